"""What a clause that binds, wishes or takes back is about: the keys of preferences and their values."""

import re
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from app.infra.extractors import chinese, english, values

_CLAUSE_START: Final = re.compile(r"[,;:，；：。.!！]\s*|\bbut\b|\band\b|但|而")
_NEAR_CHARS: Final = 28
_ALLOW: Final = "allow"
_AVOID: Final = "avoid"
_UNITS_SYSTEM: Final = re.compile(r"metric|imperial|celsius|centigrade|fahrenheit|24|12")
_WORD_GAP: Final = re.compile(r"[\s,，、和与及\"'“”‘’]+")


@dataclass(frozen=True, slots=True)
class Topic:
    """A key, and the value that a clause gives it."""

    key: str
    value: object


@dataclass(frozen=True, slots=True)
class Clause:
    """What the author says of themselves in a sentence: `plain` is as long as `text`, blank where it isn't theirs."""

    text: str
    plain: str
    words: ModuleType  # english or chinese

    @property
    def is_chinese(self) -> bool:
        return self.words is chinese

    def denies(self, at: int) -> bool:
        """Say whether what stands at a place is denied: by what stands near before it, in its own clause."""
        before = self.plain[max(0, at - _NEAR_CHARS) : at]
        starts = [match.end() for match in _CLAUSE_START.finditer(before)]
        near = before[starts[-1] :] if starts else before
        if self.is_chinese:
            after = re.split(r"[，,。；;！!]", self.plain[at : at + _NEAR_CHARS])[0]
            near += after
        return bool(self.words.NEGATIVE.search(near)) and not self.words.ALLOWING.search(near)


# Every way to name a time zone has one of them.
_ZONE_MARKS: Final = ("time", "时间", "时区", "utc", "gmt", "cet", "cest", "est", "pst", "edt", "pdt", "cst")
_AT_MOST: Final = re.compile(r"(?:别|不要|不能|不得|不许|不)超过")


def topics(clause: Clause) -> list[Topic]:
    """Return what the clause is about, the most particular first; of one key there is one value."""
    forbidden = _forbidden(clause)
    if forbidden is not None:
        return [forbidden]
    found = [
        _address(clause),
        _language(clause),
        _time_zone(clause),
        _units(clause),
        _stance(clause, clause.words.EMOJI, "emoji"),
        _stance(clause, clause.words.ABBREVIATIONS, "abbreviations"),
        _citation(clause),
        _notification(clause),
        _format(clause),
        _tone(clause),
        _length(clause),
        _focus(clause),
        _method(clause),
    ]
    kept = [topic for topic in found if topic is not None]
    # "Only the code, nothing long": what is about one thing isn't about another as well, but a manner beside it is.
    return kept[:3]


def _forbidden(clause: Clause) -> Topic | None:
    if not clause.words.FORBIDDEN.search(clause.plain):
        return None
    quoted = [(match[1] or match[2]).strip() for match in chinese.QUOTED.finditer(clause.text)]
    if quoted:
        return Topic("forbidden_words", quoted)
    named = re.search(
        r"\b(?:the )?(?:word|term|phrase|expression)s? ([a-z-]{2,30})(?: (?:and|or) ([a-z-]{2,30}))?", clause.plain
    )
    if named and not clause.is_chinese:
        return Topic(
            "forbidden_words", [word for word in named.groups() if word and word not in {"with", "in", "when", "to"}]
        )
    if re.search(r"(?:two|three|those|these|that) (?:\w+ )?(?:words?|phrases?|terms?|expressions?)\b", clause.plain):
        return Topic("forbidden_words", [])
    return None


def _address(clause: Clause) -> Topic | None:
    for match in clause.words.ADDRESS.finditer(clause.plain):
        said = clause.text[match.start(1) : match.end(1)]
        if clause.is_chinese:
            said = re.split(r"(?:就(?:可以|行|好|成)|即可|可以|吗|吧|得了)", said)[0]
            if chinese.NO_ADDRESS.search(said) or not said.strip():
                continue
            return Topic("address_as", values.tidy(said))
        said = re.split(
            r"[,.;:!?()]| (?:please|pls|from|and|instead|everyone|everybody|not|or|when|if|if you|is fine|thanks|"
            r"in|is)\b",
            said,
        )[0]
        if not said.strip() or ("call me" not in match.group() and not said.strip()[:1].isupper()):
            continue
        return Topic("address_as", values.tidy(said))
    return None


def _language(clause: Clause) -> Topic | None:
    # Two dozen times as fast as the expression, which is of no use without one.
    if not any(name in clause.plain for name in values.LANGUAGES):
        return None
    best = None
    for match in clause.words.LANGUAGE_OF.finditer(clause.plain):
        word = match[1] or match[2]
        if not clause.denies(match.start(1) if match[1] else match.start(2)):
            best = Topic("language", values.language(word))
    return best


def _time_zone(clause: Clause) -> Topic | None:
    if not any(mark in clause.plain for mark in _ZONE_MARKS):
        return None
    for match in clause.words.TIME_ZONE.finditer(clause.plain):
        if clause.denies(match.start()):
            continue
        place = match[1] or match[2]
        if place:
            return Topic("time_zone", values.zone(place))
        near = re.search(rf"(?<![a-z])({values.ZONE})(?![a-z])", clause.plain)
        return Topic("time_zone", values.zone(near[1]) if near else "local")
    return None


def _units(clause: Clause) -> Topic | None:
    found = [match for match in clause.words.UNITS.finditer(clause.plain) if not clause.denies(match.start())]
    for match in sorted(found, key=lambda one: not _UNITS_SYSTEM.search(one.group())):
        word = match.group()
        return Topic("units", clause.words.UNIT_VALUES.get(word, word))
    return None


def _stance(clause: Clause, named: re.Pattern[str], key: str) -> Topic | None:
    match = named.search(clause.plain)
    return Topic(key, _AVOID if clause.denies(match.start()) else _ALLOW) if match else None


def _citation(clause: Clause) -> Topic | None:
    match = clause.words.CITATION.search(clause.plain)
    if match is None:
        return None
    return Topic("citation", "none" if clause.denies(match.start()) else values.tidy(clause.text))


def _notification(clause: Clause) -> Topic | None:
    is_task = clause.words.ERRAND.search(clause.plain) and not clause.words.EVERY.search(clause.plain)
    if not is_task and clause.words.NOTIFY.search(clause.plain) and clause.words.RECURRING.search(clause.plain):
        return Topic("notification", values.tidy(clause.text))
    return None


def _format(clause: Clause) -> Topic | None:
    denied = None
    for match in clause.words.FORMAT.finditer(clause.plain):
        name = next((name for name, words in clause.words.FORMATS if re.search(words, match.group())), None)
        if name is None:
            continue
        if match.group().startswith(("no ", "without")) or not clause.denies(match.start()):
            return Topic("format", name)
        denied = denied or Topic("format", f"no_{name}")
    return denied


def _length(clause: Clause) -> Topic | None:
    match = clause.words.LENGTH.search(clause.plain)
    if match is None or (not clause.is_chinese and not english.ANSWERS.search(clause.plain)):
        return None
    if _AT_MOST.search(clause.plain):
        return Topic("length", "short")
    is_long = bool(clause.words.LONG.search(clause.plain)) != clause.denies(match.start())
    return Topic("length", "detailed" if is_long else "short")


def _tone(clause: Clause) -> Topic | None:
    match = clause.words.TONE.search(clause.plain)
    if match is None:
        return None
    word = match.group()
    if clause.is_chinese and word in {"语气", "口吻"}:
        word = values.tidy(clause.text)
    return Topic("tone", f"no {word}" if clause.denies(match.start()) else word)


def _focus(clause: Clause) -> Topic | None:
    match = clause.words.FOCUS.search(clause.plain)
    if match is None:
        return None
    place = next((n for n in range(1, len(match.groups()) + 1) if match[n]), None)
    said = clause.text[match.start(place) : match.end(place)] if place else clause.text
    return Topic("domain_focus", values.tidy(said) or values.tidy(clause.text))


def _method(clause: Clause) -> Topic | None:
    return Topic("other", values.tidy(clause.text)) if clause.words.METHOD.search(clause.plain) else None
