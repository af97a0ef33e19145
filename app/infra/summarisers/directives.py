"""What a sentence asks for: its clauses that bind or take back, where they stand in it, and what each is about."""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from app.infra.summarisers import chinese, english, topics
from app.infra.summarisers.kinds import CANCEL, Kind, Place, Reading
from app.infra.summarisers.reading import Sentence
from app.infra.summarisers.topics import Topic

_LIFTING: Final = frozenset({Kind.ALLOW, Kind.RELEASE, Kind.CANCEL, Kind.CANCEL_LAST, Kind.CANCEL_ALL})
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_LATIN: Final = re.compile(r"[a-z]{2}")
# Between digits a comma or a colon is part of a number or a time; after a bare "don't" it is a pause.
_BREAK: Final = re.compile(
    r"(?=[,:;，；：—–\s因否不以免而并但同也])(?:"
    r"[,:](?<!do not.)(?<!don't.)(?<!never.)(?<!ever.)(?:(?<!\d.)|(?!\d))\s*|[;，；：]\s*|[—–]{1,2}"
    r"|\s(?:[-–—]+\s+|(?=(?:because|since|otherwise|or else|so that)\b)|(?P<joint>and|but|or)\s+"
    r"(?=(?:(?:please|also|then|instead) )?(?:never|always|don't|do not|only|make sure|must|avoid|use|keep|answer|"
    r"reply|call me|you may|you can|you must)\b))"
    r"|因为|否则|不然|以免|免得|(?:而且|并且|但是?|同时|也)(?=请|不要|别|必须|务必|只能|一律|都|要|禁止))",
)
_CONDITION: Final = re.compile(
    r"(?:if|when|whenever|unless|while|in case|once|as long as|except|for|in|during|on|before|after|with)\b"
    r"|如果|若|要是|假如|当|除非|除了|每当|只要|凡是|万一|在|.*(?:时|时候|的话|场合|情况下)$",
)
_HEARSAY: Final = re.compile(
    r"(?:(?:he|she|they|someone|everyone|people|(?:my|the|our|his|her) \w+) (?:\w+ )?(?:said|says|say|told|tells|"
    r"thinks|asked|wrote|argues|claims|claimed|insists|insisted|warned|warns|keeps saying)|according to)\b"
    r"|(?!除非|如果|只要|要是|.{0,6}我(?:要求|说|提醒))[^你您]{0,8}"
    r"(?:(?:说|告诉|觉得|认为|写着)(?:过|我|他|她|大家|我们)?|(?:要求|规定)(?:我|他|她|大家|我们)+)$",
)
_OWN_WORDS: Final = re.compile(
    r"(?:i|i've|i have|as i|we) (?:\w+ )?(?:said|told|asked|mentioned)\b"
    r"|我(?:刚才|之前|说过|已经)?(?:说|要求|强调|提醒|规定)(?:过|你|您)?$",
)
# "I asked for short answers earlier, but forget it": what is recalled is what goes.
_RECALLED: Final = re.compile(
    r"我?(?:之前|上次|刚才|以前|前面|早先|先前)我?(?:让|叫|要|说|要求|跟)|(?:earlier |before )?i (?:said|told you|"
    r"asked)\b",
)
_TAKEN_BACK: Final = re.compile(
    r"(?:现在|就|那|都|可以|也)*(?:取消|作废|撤销|算了|不用了|不算了|随便你?|随你)(?:吧|了|掉)*\W*"
    r"|(?:(?:but|please|now|just) )*(?:(?:forget|ignore|scrap|drop|never mind|scratch|disregard) (?:it|that|this)|"
    r"(?:that|it)(?:'s| is) (?:off|over|no longer \w+|not \w+ any ?more)|i take (?:it|that) back)(?: now| please)?\W*",
)
# A clause of one's own, after which "always calm" is no command; a greeting and an answer are none.
_STATEMENT: Final = re.compile(r"\W*[\w']+ [\w']+")
_LIST_ITEM_WORDS: Final = 4
_OPENING_CHARS: Final = 40


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


class _Clause(NamedTuple):
    text: str
    start: int
    end: int
    is_joined: bool  # by a conjunction without a comma


class _Found(NamedTuple):
    clause: _Clause
    reading: Reading
    context: list[_Clause]  # conditions of the sentence, and the rest of a list


def spans(sentence: Sentence) -> list[tuple[int, int]]:
    """Return where its clauses stand that bind or take back; cheaper than `directives`."""
    return [(found.clause.start, found.clause.end) for found in _readings(sentence)]


def directives(sentence: Sentence) -> list[Directive]:
    """Return its clauses that bind or take back, each with its topic."""
    result = []
    for found in _readings(sentence):
        clause, reading = found.clause, found.reading
        about = topics.topic(clause.text)
        for other in found.context:
            about = about.joined(topics.topic(other.text))
        # A ceiling says the same as a wish and as a ban: "at most 100 words", "not more than 100 words".
        kind = Kind.DO if reading.kind is Kind.DONT and topics.CEILING in about.terms else reading.kind
        result.append(Directive(kind, reading.is_weak, about, clause.start, clause.end))
    return result


def _readings(sentence: Sentence) -> list[_Found]:
    plain = sentence.plain
    has_han, has_latin = bool(_HAN.search(plain)), bool(_LATIN.search(plain))
    if not ((has_han and chinese.mentions(plain)) or (has_latin and english.mentions(plain))):
        return []
    clauses = _clauses(plain)
    is_tagged = False
    is_asked = sentence.is_question or (has_han and chinese.asks(clauses[-1].text))
    if is_asked and len(clauses) > 1 and (english.is_tag(clauses[-1].text) or chinese.is_tag(clauses[-1].text)):
        clauses, is_asked, is_tagged = clauses[:-1], False, True
    found = _read_all(clauses, is_asked=is_asked, has_latin=has_latin)
    if is_tagged:  # "they must be closed, right?"
        found = {at: reading for at, reading in found.items() if not reading.is_weak}
    return _in_context(clauses, found) if found else []


def _read_all(clauses: list[_Clause], *, is_asked: bool, has_latin: bool) -> dict[int, Reading]:
    """Return how each clause is read that means anything, by its place."""
    found: dict[int, Reading] = {}
    stands = has_latin and any(english.stands(clause.text) or english.is_standing(clause.text) for clause in clauses)
    place = Place.OCCASION if stands else Place.FREE
    for at, clause in enumerate(clauses):
        recalled = _recalled(clauses[:at]) if at and _TAKEN_BACK.fullmatch(clause.text) else None
        if recalled is not None:
            found = {recalled: CANCEL}
            continue
        if place is Place.STATEMENT and clause.is_joined:
            place = Place.CONJUNCTION
        reading = _reading(clause.text, place, is_asked=is_asked, is_last=at == len(clauses) - 1)
        if reading is not None:
            found[at] = reading
        place = _place_after(clause, reading) if has_latin else Place.FREE
    return found


def _in_context(clauses: list[_Clause], found: dict[int, Reading]) -> list[_Found]:
    """Leave out what comes after "she said", and add to each clause what belongs to its topic."""
    end = next((at for at, clause in enumerate(clauses) if _is_hearsay(clause.text)), len(clauses))
    conditions = [
        clause for at, clause in enumerate(clauses[:end]) if at not in found and _CONDITION.match(clause.text)
    ]
    return [
        _Found(clauses[at], reading, [*_listed_after(clauses, at, found), *conditions])
        for at, reading in found.items()
        if at < end
    ]


def _is_hearsay(text: str) -> bool:
    return bool(_HEARSAY.match(text)) and not _OWN_WORDS.match(text)


def _clauses(plain: str) -> list[_Clause]:
    """Cut a sentence into clauses; "from now on," stays with what follows it."""
    found = []
    start, is_joined = 0, False
    for match in _BREAK.finditer(plain):
        text = plain[start : match.start()]
        if len(text) < _OPENING_CHARS and (chinese if _HAN.search(text) else english).is_standing(text):
            continue
        if text.strip():
            found.append(_Clause(text, start, match.start(), is_joined))
        start, is_joined = match.end(), match["joint"] is not None
    if plain[start:].strip() or not found:
        found.append(_Clause(plain[start:], start, len(plain), is_joined))
    return found


def _recalled(clauses: list[_Clause]) -> int | None:
    """Return the place of the clause that recalls what the user asked for before, which the next clause takes back."""
    return next((place for place, clause in enumerate(clauses) if _RECALLED.match(clause.text)), None)


def _reading(text: str, place: Place, *, is_asked: bool, is_last: bool) -> Reading | None:
    """Read a clause by the rules of its languages. Of a question only requests count, and commands before it."""
    in_chinese = bool(_HAN.search(text)) and chinese.mentions(text)
    in_english = bool(_LATIN.search(text))
    if is_asked:
        request = (chinese.requested(text) if in_chinese else None) or (english.requested(text) if in_english else None)
        if request or is_last:
            return request
    reading = chinese.read(text) if in_chinese else None
    if reading is None and in_english:
        reading = english.read(text, place)
    return None if reading and is_asked and (reading.is_weak or reading.kind in _LIFTING) else reading


def _place_after(clause: _Clause, reading: Reading | None) -> Place:
    if english.is_occasion(clause.text):
        return Place.OCCASION
    return Place.STATEMENT if reading is None and _STATEMENT.match(english.without_lead(clause.text)) else Place.FREE


def _listed_after(clauses: list[_Clause], at: int, found: dict[int, Reading]) -> list[_Clause]:
    """Return the rest of "never use emojis, tables, or footnotes": short clauses up to one that begins with or, and."""
    listed: list[_Clause] = []
    for place, clause in enumerate(clauses[at + 1 :], at + 1):
        words = clause.text.split()
        if place in found or len(words) > _LIST_ITEM_WORDS or _HAN.search(clause.text):
            return []
        listed.append(clause)
        if words[0] in {"or", "and", "nor"}:
            return listed
    return []
