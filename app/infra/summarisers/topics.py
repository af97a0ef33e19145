"""What a constraint is about, comparable across wordings and between Chinese and English."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from app.core.text.terms import terms
from app.infra.summarisers.lexicon import CHINESE_FILLER, ENGLISH_FILLER, GENERIC, THINGS, VALUES

Value = tuple[str, str]  # what it is a value of (language, number, tone ...), and which one it is

CEILING: Final = "atmost"  # the term of a clause that says how much at most


@dataclass(frozen=True, slots=True)
class Topic:
    """`terms` name what it is about, `values` what is asked of it; `is_list` where things are named side by side."""

    terms: frozenset[str]
    values: frozenset[Value]
    is_list: bool

    @property
    def is_empty(self) -> bool:
        return not (self.terms or self.values)

    def within(self, other: "Topic") -> bool:
        """Whether all that is named here is named there; of pairs of Chinese characters half is enough."""
        if self.is_empty or not self.values <= other.values:
            return False
        missing = self.terms - other.terms
        pairs = {term for term in self.terms if _HAN.match(term)}
        return missing <= pairs and 2 * len(missing) <= len(pairs)

    def alike(self, other: "Topic") -> bool:
        """Whether both are within each other."""
        return self.within(other) and other.within(self)

    def same(self, other: "Topic") -> bool:
        return not self.is_empty and self.terms == other.terms and self.values == other.values

    def rivals(self, other: "Topic") -> bool:
        """Whether both ask for different values of the same: English and Chinese answers, 100 and 50 words."""
        mine, theirs = ({kind for kind, _ in topic.values} for topic in (self, other))
        return bool(mine) and mine == theirs and self.values != other.values and self.terms == other.terms

    def opens(self, other: "Topic") -> bool:
        """Whether what is allowed here is what there is shut out, by asking for another value: meat, where only
        vegetarian restaurants were to be recommended. All that is named besides has to be named there.
        """
        mine, theirs = ({kind for kind, _ in topic.values} for topic in (self, other))
        return bool(mine) and mine == theirs and self.values != other.values and self.terms <= other.terms

    def joined(self, other: "Topic") -> "Topic":
        return Topic(self.terms | other.terms, self.values | other.values, self.is_list or other.is_list)


_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_WORD: Final = re.compile(r"[a-z][a-z']*|[^a-z]+")
_NO_LONGER: Final = re.compile(r"\b(?:no|any) longer\b(?! than)")
_AT_MOST: Final = re.compile(
    r"\b(?:no more than|not more than|at most|less than|fewer than|shorter than|no longer than|under|below|within|"
    r"up to|max(?:imum)?(?: of)?|(?:don't|do not|never|not) (?:exceed|go over|go above|use more than|write more than)|"
    r"(?:must|should|can|may) (?:not|never) (?:exceed|be (?:longer|more) than))\b",
)
_AT_MOST_ZH: Final = re.compile(r"(?:不要|不得|不能|别|不可)?(?:超过|多于|超出)|不超过|最多|至多|以内|之内|以下")
_NUMBER: Final = re.compile(
    r"\d+(?:[.,:]\d+)*"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|fifty|hundred)\b"
    r"|(?!一点)[一二两三四五六七八九十百千万]+(?=字|句|条|点|段|行|页|个字|分钟|小时|天|块|元|次)",
)
_CALL_ME: Final = re.compile(
    r"\b(?:call|address) me (?:as )?(?!(?:after|before|at|on|in|back|when|if|for|by|until|later|unless|again|any)\b)"
    r"(?P<name>[\w. ]{1,30})|(?:叫|称呼|喊)我(?:为|做|作)?\s*(?P<zh>\w{1,10})",
)
_NOT_OF_A_NAME: Final = re.compile(
    r" (?:from now on|please|instead|ok|okay|always)\b.*|就行|就好|吧$|就可以|也可以了?|也行了?"
)
_LIST: Final = re.compile(r"\b(?:and|or|nor)\b|[/、&]|和|与|或|及|跟|,\s*\w+\s*$")


def topic(clause: str) -> Topic:
    """Return what a lower-cased clause is about. What it says of that (never, must, 不要) is left out."""
    called = _CALL_ME.search(clause)
    if called:
        name = _NOT_OF_A_NAME.sub("", called["name"] or called["zh"]).strip()
        return Topic(frozenset({"call_me"}), frozenset({("name", name)}), is_list=False)
    values: set[Value] = set()

    def number(match: re.Match[str]) -> str:
        values.add(("number", match.group()))
        return " "

    rest = _NUMBER.sub(number, _AT_MOST.sub(f" {CEILING} ", _NO_LONGER.sub(" ", clause)))
    named: set[str] = set()
    if _HAN.search(rest):
        rest = _AT_MOST_ZH.sub(f" {CEILING} ", rest)
        rest = _FILLER.sub(" ", _take_han(rest, values, named))
    rest = _take_latin(rest, values, named)
    named |= {_stem(term) for term in terms(rest)} - _FILLER_STEMS
    # A single character is what is left between fillers (打 of 打电话) more often than a word (诗).
    telling = frozenset(name for name in named - _GENERIC_STEMS if len(name) > 1 or not _HAN.match(name))
    return Topic(telling if telling or values else frozenset(named), frozenset(values), bool(_LIST.search(clause)))


def _take_han(text: str, values: set[Value], named: set[str]) -> str:
    """Take the Chinese names of values and things out of the text."""

    def take(match: re.Match[str]) -> str:
        word = match.group()
        if word in _VALUE_OF:
            values.add(_VALUE_OF[word])
        else:
            named.add(_THING_OF[word])
        return " "

    return _HAN_NAME.sub(take, text)


def _take_latin(text: str, values: set[Value], named: set[str]) -> str:
    """Take the English names of values and things out of the text, those of two words first; and filler."""
    parts = _WORD.findall(text)
    kept: list[str] = []
    place = 0
    while place < len(parts):
        pair = "".join(parts[place : place + 3])
        name, step = (pair, 3) if pair in _VALUE_OF or pair in _THING_OF else (parts[place], 1)
        if name in _VALUE_OF:
            values.add(_VALUE_OF[name])
        elif name in _THING_OF:
            named.add(_THING_OF[name])
        elif name not in ENGLISH_FILLER:
            kept.append(name)
        place += step
    return " ".join(kept)


def _stem(term: str) -> str:
    """Take -ion as well, which a search wants to keep: translate and translation are one thing here."""
    stem = term.removesuffix("ion")
    return stem if len(stem) >= _MIN_STEM_CHARS else term


_MIN_STEM_CHARS: Final = 4


def _stems(names: Iterable[str]) -> frozenset[str]:
    return frozenset(_stem(term) for name in names for term in terms(name))


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for any of the names, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(names, key=lambda name: (-len(name), name)))))


_VALUE_OF: Final = {word.strip(): value for value, listed in VALUES.items() for word in listed.split(",")}
_THING_OF: Final = {word.strip(): thing for thing, listed in THINGS.items() for word in listed.split(",")}
_HAN_NAME: Final = _any_of(name for name in (*_VALUE_OF, *_THING_OF) if not name.isascii())
_FILLER: Final = _any_of(CHINESE_FILLER)
_FILLER_STEMS: Final = _stems(ENGLISH_FILLER)
_GENERIC_STEMS: Final = _stems(GENERIC) | GENERIC
