"""What a message states, by rules: pure, in English and Chinese.

A sentence is read once its author's words alone are left (no code, no quotation, nothing pasted), and only where it is
of here and now: not of others, of once, of a play, of what might be. What binds the reader is told by the rules that
summaries take constraints by (`app.infra.summarisers.directives`); these say what it is about.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from app.core.writing import OTHER, Finding, Kind, Trust
from app.infra.extractors import chinese, english, english_self
from app.infra.extractors.conclusions import conclusion
from app.infra.extractors.said import MADE_UP, Said, is_past, said, words_of
from app.infra.extractors.topics import Topic
from app.infra.extractors.values import tidy
from app.infra.extractors.withdrawals import RELEASING, withdrawals
from app.infra.summarisers.kinds import Kind as Act
from app.infra.summarisers.reading import BLANK, Sentence, own_sentences

# What is longer was written for something else than to say who one is; its beginning and end are read.
MAX_CHARS: Final = 1_200
# Of a sentence that is longer its beginning and end are read: rules take longer for two sentences in one than for two.
MAX_READ_CHARS: Final = 240
MAX_FINDINGS: Final = 12
MAX_SENTENCE_CHARS: Final = 500
SURE: Final = 0.95
LIKELY: Final = 0.6

_LOG: Final = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d|\[(?:info|warn|error|debug)|(?:info|warn|error|debug)\b|git log|>|\|)"
    r"|^\s*(?:from|to|subject|发件人|收件人|主题)\s*[:：]",
)
# A message that is one quotation is its author's own.
_WHOLE_QUOTE: Final = re.compile(r"\A\s*[\"“]([^\"“”]+)[\"”]\s*\Z")
_CODE: Final = re.compile(
    r"```|~~~|[{};]\s*\n|^\s*(?:def|class|import|SELECT|#include)\b|\w+\(\w*\)\s*[;:{]", re.MULTILINE
)
_FORWARDED: Final = re.compile(r"^\s*(?:fwd|fw|转发)\b.{0,10}[:：]|-{3,} ?(?:original|forwarded)|(?:转发一下)[:：]")
_STRONG_STANDING: Final = re.compile(
    r"\b(?:always|never|from now on|going forward|in (?:the )?future|every time|each time|whenever|"
    r"by default|in general|now and later|"
    r"goes for every|that way|keep that in mind|any day|weekends|with me|to me|when you write|until i say|"
    r"remember)\b|以后|今后|从现在|从今|每次|每周|每天|每月|天天|一律|永远|默认|平时|一直|所有|凡是|跟我|"
    r"回我|对我",
)
_TODAY: Final = re.compile(r"\btoday\b|\btonight\b|\btomorrow\b|\bfor now\b|今天|今晚|明天|临时|暂时")
_SUPPOSED: Final = re.compile(
    r"(?:假如|假设|假若|倘若|如果|要是|若是)(?:我|你|是我)(?!们|想|要|能|从|需要)|换成我|哪天我"
    r"|希望我(?:能|也|就|是|住|在|有)"
)
_OF_KIN: Final = re.compile(
    r"我(?:的|家)?(?:姐|哥|弟|妹|爸|妈|爷|奶|同事|朋友|老板|同学|老婆|老公|儿子|女儿)[^，,。]{0,3}(?:住|在|是|喜欢|爱|说|想|让|要|希望|觉得)"
    r"|^我(?:又|可|并)?不是",
)
_ASKS_FOR: Final = re.compile(r"\bi(?:'d| would) (?:really )?(?:like|love) (?!it (?:when|if)\b)")
_READER: Final = re.compile(r"\byou|me\b|我|你")
# Who tells of their friend's taste asks for both of them.
_ASKS_TOO: Final = re.compile(r"帮(?:我|忙)|给我们?(?:找|推荐|选)|请[你您再]|麻烦[你您]|我(?:们)?(?:想|要)|推荐")
# Who asks what they are to do, or speaks of somebody like somebody, doesn't say who they are.
_WONDERS: Final = re.compile(
    r"我(?:该|应该|要不要)(?:去)?(?:当|做|用|写|选|填|报|学|穿)|我是不是(?:应该|该)"
    r"|像我?(?:妈|爸|姐|哥|弟|妹|朋友|同事|老板|老婆|老公).{0,4}(?:那|这)(?:种|样)"
)
_MOVED: Final = re.compile(r"搬|转|现在|\bnow\b|\bmoved\b|i'm in")
_DENIED: Final = re.compile(
    r"\bi(?:'m| am) not\b|\bi don't (?:live|work)\b|not allergic"
    r"|我(?:又|可|并)?不(?:是|在|住|叫|姓)|不过敏|没(?:有)?过敏",
)
_INSTEAD: Final = re.compile(r"还是|改成|go back to|instead")
_BY_DEFAULT: Final = re.compile(r"by default|every time|each time|默认")
# "That goes for every script", 以后都这样: about what the sentence before it said.
_REFERS: Final = re.compile(r"\b(?:that|this|it|same) (?:goes|way|applies)|都(?:这样|酱紫|如此)")
_MANNER: Final = re.compile(
    r"\b(?:use|call|answer|reply|respond|write (?:to )?me|talk|speak|keep|stop|avoid|skip|not|switch|"
    r"stick|address|remind|ping)\b"
    r"|叫我|称呼我|喊我|用|别|不要|回我|回复",
)
_ORDER: Final = re.compile(
    r"(?:^|[,;:.] *)(?:(?:and|so|but|also|then|just|please|pls|from now on|in future|ok|okay|right|hey|hi),? )*"
    r"(?:answer|reply|respond|write (?:to )?me|talk|speak|use|keep|be|stop|don't|dont|never|always|avoid|"
    r"skip|no|call|address|send|remind|ping|notify|put the|"
    r"explain things|ask|quote|cite|give me|stick|switch|go|focus|assume|include|spell|round|format|leave|"
    r"drop|just the|only|plain|markdown|output)\b"
    r"|\bplease\b|\bpls\b|\bplase\b",
)
_CHINESE_ORDER: Final = re.compile(
    r"请|麻烦|以后|今后|别|不要|不用|就(?:行|好|可以)|吧$|一?点(?:儿)?[，,。]|一?点$|直接|统一|默认|给我|"
    r"跟我|叫我|优先|注明|按.{1,8}(?:写|算|说|来|显示)|^用|[，,]用",
)


def findings(text: str) -> list[Finding]:
    """Return what a message of a user's states, each kind and key and value once."""
    text = _within_bounds(text)
    if _FORWARDED.search(text.lower()):
        return []
    sentences = [_shortened(one) for one in own_sentences(_WHOLE_QUOTE.sub(r"\1", text))]
    plain = " ".join(sentence.plain for sentence in sentences)
    if english.ROLE_PLAY.search(plain) or chinese.ROLE_PLAY.search(plain):
        return []
    stands = bool(_STRONG_STANDING.search(plain))
    is_once = any(words_of(one.plain).ONCE.search(one.plain) for one in sentences)
    found: dict[tuple[Kind, str | None, str], Finding] = {}
    for sentence in sentences:
        for finding in _of(sentence, stands=stands, is_once=is_once):
            found.setdefault((finding.kind, finding.key, str(finding.value)), finding)
    return list(found.values())[:MAX_FINDINGS]


def is_another_world(text: str) -> bool:
    """Say whether a message is a play, forwarded, code, or of what might be: nothing of it is concluded."""
    text = _within_bounds(text)
    if _FORWARDED.search(text.lower()) or _CODE.search(text) or _LOG.search(text.lower()):
        return True
    plain = " ".join(sentence.plain for sentence in own_sentences(text))
    words = words_of(plain)
    guards = [_SUPPOSED, _WONDERS, MADE_UP, words.NOT_SAID, english.ROLE_PLAY, chinese.ROLE_PLAY]
    if any(guard.search(plain) for guard in guards) or is_past(plain, words):
        return True
    return bool(_OF_KIN.search(plain)) and not _ASKS_TOO.search(plain)


def own_text(text: str) -> str:
    """Return a message without what its author quotes."""
    plain = "".join(sentence.plain for sentence in own_sentences(_WHOLE_QUOTE.sub(r"\1", _within_bounds(text))))
    return plain.replace(BLANK, "") if BLANK in plain else text


def _within_bounds(text: str) -> str:
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS // 2] + "\n" + text[-MAX_CHARS // 2 :]


def _shortened(sentence: Sentence) -> Sentence:
    if len(sentence.plain) <= MAX_READ_CHARS:
        return sentence
    half = MAX_READ_CHARS // 2
    text, plain = (each[:half] + ";" + each[-half:] for each in (sentence.text, sentence.plain))
    return Sentence(text, plain, sentence.is_question)


def _of(sentence: Sentence, *, stands: bool, is_once: bool) -> Iterator[Finding]:
    words, plain = words_of(sentence.plain), sentence.plain
    if _LOG.search(plain) or not plain.strip(BLANK + " .,!?。，！？"):
        return
    concluded = conclusion(sentence)
    if concluded is not None:
        yield _finding(Kind.PREFERENCE, concluded, sentence, Trust.INFERRED)
        return
    if any(guard.search(plain) for guard in (words.HYPOTHETICAL, words.NOT_SAID, words.SARCASM)):
        return
    own = said(sentence)
    if own is None:
        return
    gone = list(withdrawals(own))
    yield from (_finding(Kind.WITHDRAW, topic, sentence) for topic in gone)
    facts = [topic for topic in own.facts if _holds(own, topic, gone)]
    if facts and _TODAY.search(plain):
        facts = []
    yield from (_finding(Kind.PROFILE, topic, sentence) for topic in facts)
    if gone and not (Act.DO in own.kinds or _INSTEAD.search(own.own)):
        return
    wished = [] if is_once and not _STRONG_STANDING.search(own.own) else _preferences(own, facts, stands=stands)
    yield from (_finding(Kind.PREFERENCE, topic, sentence) for topic in wished)
    if not (wished or facts or gone) and _is_taste(own):
        yield _finding(Kind.PREFERENCE, Topic(OTHER, tidy(sentence.text)), sentence)


def _finding(kind: Kind, topic: Topic, sentence: Sentence, trust: Trust = Trust.EXPLICIT) -> Finding:
    confidence = SURE if trust is Trust.EXPLICIT else LIKELY
    return Finding(kind, topic.key, topic.value, trust, confidence, sentence.text[:MAX_SENTENCE_CHARS])


def _holds(own: Said, topic: Topic, gone: Sequence[Topic]) -> bool:
    """Say whether what a sentence tells of its author is so, where it also takes something back."""
    corrected = [each for each in gone if each.key == topic.key]
    if own.kinds & RELEASING or (gone and not corrected):
        return False
    if corrected:
        is_over = own.words.NO_LONGER.search(own.own) and not _MOVED.search(own.own)
        return not is_over and all(each.value != topic.value for each in corrected)
    return not _DENIED.search(own.own)


def _preferences(own: Said, facts: Sequence[Topic], *, stands: bool) -> list[Topic]:
    """Return how the author wants to be answered: where they ask for it, for good, and not for a thing at hand."""
    words, plain = own.words, own.own
    if words.ONCE.search(own.sentence.plain):
        return []
    strong = stands or bool(_STRONG_STANDING.search(plain))
    asked = bool(words.REQUEST.search(plain))
    binds = bool(own.kinds & {Act.DO, Act.DONT, Act.ALLOW})
    if _is_for_a_thing(own, strong=strong, asked=asked):
        return []
    if not own.about:
        plainly = any(act.kind in {Act.DO, Act.DONT} and not act.is_weak for act in own.acts) and binds
        return [Topic(OTHER, tidy(own.sentence.text))] if plainly and strong and not _REFERS.search(plain) else []
    if own.sentence.is_question and not (binds or asked):
        return []
    is_order = bool((_CHINESE_ORDER if own.clause.is_chinese else _ORDER).search(plain)) or _BY_DEFAULT.search(plain)
    is_focus = words.SELF.search(plain) and any(topic.key in {"domain_focus", "time_zone"} for topic in own.about)
    is_wish = words.WISH.search(plain) or words.ALLOWING.search(plain)
    if binds or is_wish or asked or is_focus or (is_order and not facts):
        return list(own.about)
    return []


def _is_for_a_thing(own: Said, *, strong: bool, asked: bool) -> bool:
    """Say whether a sentence is about something that is being made, or asks for it."""
    if own.words.ARTEFACT.search(own.own) and not (strong and _READER.search(own.own)):
        return True
    return not strong and bool(own.words.TASK.search(own.own) or (asked and not _MANNER.search(own.own)))


def _is_taste(own: Said) -> bool:
    """Say whether a sentence tells what its author likes or can't stand, which has no key."""
    if own.words.ONCE.search(own.sentence.plain) or own.sentence.is_question or own.words.TASK.search(own.own):
        return False
    # "I'd like a table for two" asks for something.
    return not _ASKS_FOR.search(own.own) and bool(
        (chinese if own.clause.is_chinese else english_self).TASTE.search(own.own)
    )
