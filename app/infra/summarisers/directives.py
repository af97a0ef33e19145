"""What a sentence asks for: its clauses that bind or take back, where they stand in it, and what each is about."""

import re
from dataclasses import dataclass
from typing import Final

from app.infra.summarisers import chinese, english, topics
from app.infra.summarisers.english import Place
from app.infra.summarisers.kinds import CANCEL, Kind, Reading
from app.infra.summarisers.reading import Sentence
from app.infra.summarisers.topics import Topic

_LIFTING: Final = frozenset({Kind.ALLOW, Kind.RELEASE, Kind.CANCEL, Kind.CANCEL_LAST, Kind.CANCEL_ALL})
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_LATIN: Final = re.compile(r"[a-z]{2}")
# Between digits a comma or a colon is part of a number or a time.
_BREAK: Final = re.compile(
    r"(?:(?<!do not)(?<!don't)(?<!never)(?:(?<!\d)[,:]|[,:](?!\d))|[;，；：])\s*|\s+[-–—]+\s+|[—–]{1,2}"
    r"|\s+(?=(?:because|since|otherwise|or else|so that)\b)|(?=因为|否则|不然|以免|免得)"
    r"|\s+(?:and|but|or)\s+(?=(?:please |also |then |instead )?(?:never|always|don't|do not|only|make sure|must|avoid|use|keep|answer|reply|"
    r"call me|you may|you can|you must)\b)|(?:而且|并且|但是?|同时|也)(?=请|不要|别|必须|务必|只能|一律|都|要|禁止)"
)
_CONDITION: Final = re.compile(
    r"(?:if|when|whenever|unless|while|in case|once|as long as|except|for|in|during|on|before|after|with)\b|如果|若|要是|假如|当|除非|除了|每当|"
    r"只要|凡是|万一|在|.*(?:时|时候|的话|场合|情况下)$"
)
_HEARSAY: Final = re.compile(
    r"(?:(?:he|she|they|someone|everyone|people|my \w+|the \w+|our \w+|his \w+|her \w+) (?:\w+ )?(?:said|says|say|told|tells|thinks|asked|"
    r"wrote|argues|claims|claimed|insists|insisted|warned|warns|always says|keeps saying)|according to)\b"
    r"|(?!除非|如果|只要|要是|.{0,6}我(?:要求|说|提醒))[^你您]{0,8}(?:(?:说|告诉|觉得|认为|写着)(?:过|我|他|她|大家|我们)?|(?:要求|规定)(?:我|他|她|大家|我们)+)$"
)
_OWN_WORDS: Final = re.compile(
    r"(?:i|i've|i have|as i|we) (?:\w+ )?(?:said|told|asked|mentioned)\b|我(?:刚才|之前|说过|已经)?(?:说|要求|强调|提醒|规定)(?:过|你|您)?$"
)
# A clause of one's own, after which "always calm" is no command; a greeting, an answer and a scope are none.
_STATEMENT: Final = re.compile(r"\W*[\w']+ [\w']+")
# "I asked for short answers earlier, but forget it": what is recalled is what goes.
_RECALLED: Final = re.compile(
    r"(?:我)?(?:之前|上次|刚才|以前|前面|早先|先前)(?:我)?(?:让|叫|要|说|要求|跟)|(?:earlier |before )?i (?:said|told you|asked)\b"
)
_TAKEN_BACK: Final = re.compile(
    r"(?:现在|就|那|都|可以|也)*(?:取消|作废|撤销|算了|不用了|不算了|随便你?|随你)(?:吧|了|掉)*\W*"
    r"|(?:but |please |now |just )*(?:(?:forget|ignore|scrap|drop|never mind|scratch|disregard) (?:it|that|this)|"
    r"(?:that|it)(?:'s| is) (?:off|over|no longer \w+|not \w+ any ?more)|i take (?:it|that) back)(?: now| please)?\W*"
)
_LIST_ITEM_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class Directive:
    """A clause [start, end) of a sentence that binds or takes back."""

    kind: Kind
    is_weak: bool
    topic: Topic
    start: int
    end: int

    @property
    def lifts(self) -> bool:
        return self.kind in _LIFTING


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    start: int
    end: int
    is_joined: bool  # by a conjunction, and no comma


_Read = tuple[_Clause, Reading, list[_Clause]]


def binds(sentence: Sentence) -> bool:
    """Whether the sentence binds or takes back anything; cheaper than `directives`."""
    return bool(_readings(sentence))


def spans(sentence: Sentence) -> list[tuple[int, int]]:
    """Return where its clauses stand that bind or take back."""
    return [(clause.start, clause.end) for clause, _, _ in _readings(sentence)]


def directives(sentence: Sentence) -> list[Directive]:
    """Return its clauses that bind or take back, each with its topic: conditions before them and lists after them included."""
    found = []
    for clause, reading, context in _readings(sentence):
        about = topics.topic(clause.text)
        for other in context:
            about = about.joined(topics.topic(other.text))
        # A ceiling says the same as a wish and as a ban: "at most 100 words", "not more than 100 words".
        kind = Kind.DO if reading.kind is Kind.DONT and topics.CEILING in about.terms else reading.kind
        found.append(Directive(kind, reading.is_weak, about, clause.start, clause.end))
    return found


def _readings(sentence: Sentence) -> list[_Read]:
    """Return the clauses that bind, how each is read, and the clauses that belong to its topic."""
    if not (english.TRIGGER.search(sentence.plain) or chinese.TRIGGER.search(sentence.plain)):
        return []
    clauses = _clauses(sentence.plain)
    is_asked = sentence.is_question or chinese.asks(clauses[-1].text)
    if is_asked and len(clauses) > 1 and (english.is_tag(clauses[-1].text) or chinese.is_tag(clauses[-1].text)):
        clauses, is_asked = clauses[:-1], False
    found: list[tuple[int, Reading]] = []
    conditions: list[_Clause] = []
    stands = english.stands(sentence.plain) or any(english.is_standing(clause.text) for clause in clauses[1:])
    after = Place.CONDITIONED if stands else Place.FREE
    for place, clause in enumerate(clauses):
        if _HEARSAY.match(clause.text) and not _OWN_WORDS.match(clause.text):
            break
        if after is Place.FOLLOWING and clause.is_joined:
            after = Place.JOINED
        if _TAKEN_BACK.fullmatch(clause.text) and (earlier := _earlier(clauses[:place])) is not None:
            found = [(earlier, CANCEL)]
            continue
        reading = _reading(clause.text, after, is_asked=is_asked, is_last=place == len(clauses) - 1)
        if reading is not None:
            found.append((place, reading))
        elif _CONDITION.match(clause.text):
            conditions.append(clause)
        after = _place_after(clause, reading)
    places = {place for place, _ in found}
    return [
        (clauses[place], reading, [*_listed_after(clauses, place, places), *conditions]) for place, reading in found
    ]


def _place_after(clause: _Clause, reading: Reading | None) -> Place:
    if english.is_occasion(clause.text):
        return Place.CONDITIONED
    return Place.FOLLOWING if reading is None and _STATEMENT.match(english.without_lead(clause.text)) else Place.FREE


def _earlier(clauses: list[_Clause]) -> int | None:
    """Return the place of the clause that recalls what the user asked for before, which the next clause takes back."""
    return next((place for place, clause in enumerate(clauses) if _RECALLED.match(clause.text)), None)


def _clauses(plain: str) -> list[_Clause]:
    found = []
    start, is_joined = 0, False
    for match in _BREAK.finditer(plain):
        if _is_opening(plain[start : match.start()]):
            continue
        found.append(_Clause(plain[start : match.start()], start, match.start(), is_joined))
        start, is_joined = match.end(), match.group().strip() in {"and", "but", "or"}
    found.append(_Clause(plain[start:], start, len(plain), is_joined))
    return [clause for clause in found if clause.text.strip()]


def _is_opening(text: str) -> bool:
    """Whether the words before a comma belong to what follows: "from now on", "从现在开始"."""
    return (chinese if _HAN.search(text) else english).is_standing(text)


def _reading(text: str, after: Place, *, is_asked: bool, is_last: bool) -> Reading | None:
    """Read a clause by the rules of its languages. Of a question only requests count, and commands before it."""
    has_han = bool(_HAN.search(text))
    if is_asked:
        request = (chinese.requested(text) if has_han else None) or english.requested(text)
        if request or is_last:
            return request
    reading = chinese.read(text) if has_han else None
    if reading is None and _LATIN.search(text):
        reading = english.read(text, after)
    return None if reading and is_asked and (reading.is_weak or reading.kind in _LIFTING) else reading


def _listed_after(clauses: list[_Clause], place: int, bind: set[int]) -> list[_Clause]:
    """Return the rest of "never use emojis, tables, or footnotes": short clauses up to one that begins with or, and."""
    listed: list[_Clause] = []
    for after, clause in enumerate(clauses[place + 1 :], place + 1):
        words = clause.text.split()
        if after in bind or len(words) > _LIST_ITEM_WORDS or _HAN.search(clause.text):
            return []
        listed.append(clause)
        if words[0] in {"or", "and", "nor"}:
            return listed
    return []
