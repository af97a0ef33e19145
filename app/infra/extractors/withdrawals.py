"""What a sentence takes back: a wish, a ban, a fact that doesn't hold any more."""

import re
from collections.abc import Iterator
from typing import Final

from app.infra.extractors import values
from app.infra.extractors.said import Said
from app.infra.extractors.topics import Clause, Topic, topics
from app.infra.summarisers.kinds import Kind as Act

RELEASING: Final = frozenset({Act.RELEASE, Act.CANCEL, Act.CANCEL_LAST, Act.CANCEL_ALL})
_PLAINLY: Final = re.compile(
    r"\b(?:delete|remove|erase|scrap|cancel|forget)\b|删|关掉|取消|清掉|抹掉|恢复|不用再|不必再|不需要",
)
_TURN: Final = re.compile(r"\bbut\b|忘|还是|改")
_BEFORE_TURN: Final = re.compile(r" but |，|,")
# What is named without a value: "my phone number", 那个提醒.
_MARKS: Final = (
    ("phone", re.compile(r"\bphone|mobile|my number|cell\b|手机号?|电话|号码")),
    ("email", re.compile(r"\be-?mail|邮箱|邮件地址")),
    ("birthday", re.compile(r"\bbirthday|date of birth|生日")),
    ("location", re.compile(r"\bmy (?:address|location|city)|我的(?:地址|住址|位置)")),
    ("name", re.compile(r"\bmy name|我的名字")),
    ("company", re.compile(r"\bmy (?:employer|company)|我的?(?:公司|单位)")),
    ("notification", re.compile(r"\b(?:reminders?|alerts?|pings?|notifications?|quiet rule)|提醒|推送|通知")),
    ("language", re.compile(r"\blanguage|\bin (?:english|german|french|dutch)|英文|中文|语言")),
    ("format", re.compile(r"\bformat|tables?|bullets?|markdown|格式|表格|分点")),
    ("length", re.compile(r"\bshort answers?|brief|long answers?|length|简短|详细|字数")),
    ("tone", re.compile(r"\btone|formal|casual|语气")),
    ("address_as", re.compile(r"\bcall(?:ing)? me|叫我|称呼")),
    ("allergy", re.compile(r"\ballerg|过敏")),
)


def withdrawals(said: Said) -> Iterator[Topic]:
    """Yield what a sentence takes back, each with the value that it names, if it names one."""
    about = said.about or list(_marked(said.clause))
    if about and _takes_back(said):
        yield Topic(about[0].key, _former(said, about[0]))
    elif about and _turns(said):
        yield Topic(about[0].key, _recalled(said))
    else:
        yield from _corrected(said)


def _takes_back(said: Said) -> bool:
    if said.kinds & RELEASING:
        return True
    allows = Act.ALLOW in said.kinds or said.words.ALLOWING.search(said.own)
    return bool(said.words.AGAIN.search(said.own) and (allows or _PLAINLY.search(said.own)))


def _turns(said: Said) -> bool:
    return bool(said.words.SAID_BEFORE.search(said.sentence.plain) and _TURN.search(said.own))


def _recalled(said: Said) -> object:
    """Return the value that was asked for earlier: "I said Dutch earlier, but ..."."""
    before = Clause(said.sentence.text, _BEFORE_TURN.split(said.sentence.plain)[0], said.words)
    found = topics(before)
    return found[0].value if found else None


def _corrected(said: Said) -> Iterator[Topic]:
    plain = said.sentence.plain
    ended = said.words.NO_LONGER.search(plain)
    if not (ended or said.words.CORRECTION.search(plain)) or not said.facts:
        return
    old = said.words.NOT_BUT.search(plain) or ended
    value = next((values.tidy(part) for part in old.groups() if part), None) if old else None
    if old and (value or ended):
        yield Topic(said.facts[0].key, value)


def _former(said: Said, topic: Topic) -> object:
    if topic.key in {"emoji", "abbreviations"}:
        return "avoid"
    return None if topic.key == "format" or said.words.SAID_BEFORE.search(said.own) else topic.value


def _marked(clause: Clause) -> Iterator[Topic]:
    for key, pattern in _MARKS:
        if pattern.search(clause.plain):
            yield Topic(key, None)
