"""How an English clause is read: as a constraint, as the end of one, or as neither. Clauses come lower-cased.

The rules aim at missing nothing that is put to the reader. They leave out what people say without meaning it so ("don't
worry", "you must be tired"), what others said or do, and questions that aren't requests.
"""

import re
from typing import Final

from app.infra.summarisers import english_words as w
from app.infra.summarisers.english_commands import command, manner
from app.infra.summarisers.english_lifting import lifted
from app.infra.summarisers.english_statements import addressed, first_person, impersonal
from app.infra.summarisers.kinds import DO, DONT, Place, Reading

_WORD: Final = re.compile(r"[\w']+")
_ASCII_WORD: Final = re.compile(r"[a-z']+")
_HEAD_WORDS: Final = 14

_LEAD: Final = re.compile(
    r"(?:(?:and|but|so|also|then|plus|ok|okay|well|now|oh|hey|hi|hello|yes|yeah|actually|again|first|firstly|second|"
    r"secondly|third|thirdly|finally|lastly|instead|anyway|btw|by the way|fyi|ps|please|pls|plz|kindly|just|simply|"
    r"remember(?! to)|"
    r"note|important|reminder|rule|seriously|in general|generally|whenever possible|where possible|if possible|"
    r"at least|as a rule|one more thing|absolutely|thanks|thank you|sorry|either|to be clear|once again|assistant|"
    r"no(?= (?:please|don't|never|always)\b))\b[\s,.!)*_]*|[^\w']+)+",
)
_COURTEOUS: Final = re.compile(r"\b(?:please|pls|plz|kindly)\b")
_STANDING: Final = re.compile(
    r"(?:from (?:now|here|today|this point)(?: on(?:wards?)?| out)?|going forward|in (?:the )?future|henceforth|"
    r"at all times|"
    r"for the rest of (?:this|the|our) \w+|in (?:every|all) (?:answers?|repl(?:y|ies)|responses?)|every time)\b[\s,:]*",
)
_STANDS: Final = re.compile(
    r"\b(?:from now on|going forward|from here on|in (?:the )?future|henceforth|every time|each time|by default|"
    r"in general|as a rule)\b",
)
_ALWAYS: Final = re.compile(r"\W*(?:please )?always\W*")
# "In this chat never ...", "When I ask for code don't ...": a scope, and then the imperative.
_SCOPE: Final = re.compile(
    r"(?:in|for|on|at|during|after|before|within|with|when|whenever|while|if|unless|until|once|"
    r"about)\b(?P<scope>[^?]{1,80}?)\s"
    r"(?=(?:(?:please |kindly )?(?:never|always|don'?t|do not|only|avoid|make sure|refrain|answer|reply|respond|use|"
    r"write|keep)|please|you (?:must|should|may|can|are|have to))\b)",
)
_SUBJECTS: Final = frozenset({"i", "we", "you", "it", "that", "which", "really", "just", "also", "would"})
_TOLD: Final = frozenset({"was", "were", "had", "did", "used"})
_OCCASION: Final = re.compile(
    r"(?:when(?:ever)?|every time|each time|any ?time) "
    r"(?:i|we|my|something|someone|there|it|you(?! (?:have|are|get|finish|can)\b))\b"
    r"|if (?:i ask|you (?:quote|cite|mention|use|write|give|answer|recommend|suggest|translate|don't know))\b|"
    r"unless i\b",
)
_REQUEST: Final = re.compile(
    r"(?:would you mind|(?:can|could|would|will|won't) (?:you|we)(?: all)?|is it possible to|"
    r"i(?:'d| would) (?:rather|prefer(?: it)?(?: if)?)(?: that)? you|i(?:'d| would) (?:like|love|prefer|"
    r"want) you to|i(?:'d| would) (?:appreciate it|be grateful) if you(?: could| would)?|"
    r"i(?: really| just| do)? (?:want|need|expect|ask|require|beg|would like|'d like) you(?: to)?|"
    r"(?:as )?i(?:'ve| have)?(?: already| just)? (?:said|told you|asked you|asked|mentioned)(?: that|"
    r" before)?(?: to)?)\b[\s,]*(?:(?:please|kindly|also|just|maybe|perhaps|to)\b[\s,]*)*",
)
_REQUEST_HEADS: Final = frozenset({"would", "can", "could", "will", "won't", "is", "i", "i'd", "i've", "as"})
_TAKES_BACK: Final = re.compile(r"\bagain\W*$")  # "can you use tables again?" asks whether, or for one answer
_TASKS: Final = frozenset({"tell", "explain", "show", "give", "check", "guess"})
_TAG: Final = re.compile(
    r"\W*(?:ok|okay|alright|all right|right|please|got it|understood|understand|clear|will you|would you|can you|"
    r"could you|deal|agreed|yes|yeah)?\W*",
)
_BORROWED: Final = re.compile(r"(?:always|never|only)(?: ever)? (?P<verb>[\w']+)")
_BORROWED_HEADS: Final = ("always", "never", "only", "make", "avoid", "keep", "use", "answer", "reply")


def mentions(plain: str) -> bool:
    """Whether a sentence may bind at all; where not, nothing else need be asked."""
    return not w.TRIGGERS.isdisjoint(_ASCII_WORD.findall(plain))


def read(clause: str, place: Place = Place.FREE) -> Reading | None:
    """Return how the clause is read, or None. It is a statement: what is asked goes to `requested`."""
    rest = without_lead(clause).replace("you're ", "you are ")
    words = _WORD.findall(rest)[:_HEAD_WORDS]
    if not words or _is_borrowed(clause, rest, place):
        return None
    found = lifted(words, rest) or _asked(words, rest)
    if found:
        return found
    is_standing = place is Place.OCCASION or bool(_STANDS.search(rest))
    standing = _STANDING.match(rest)
    if standing:
        is_standing, rest = True, without_lead(rest[standing.end() :])
    scope = _SCOPE.match(rest)
    if scope and _is_scope(scope["scope"]):
        is_standing, rest = is_standing or bool(_OCCASION.match(rest)), without_lead(rest[scope.end() :])
    words = _WORD.findall(rest)[:_HEAD_WORDS]
    if not words:
        return None
    found = (
        command(words, rest) or addressed(rest) or first_person(rest) or impersonal(rest, words) or manner(words, rest)
    )
    if found is None and is_standing:
        return _standing(words)
    return found


def requested(clause: str) -> Reading | None:
    """Return how a question is read that asks for something ("could you never ...?"), None for others."""
    rest = without_lead(clause)
    return _asked(_WORD.findall(rest)[:_HEAD_WORDS], rest)


def without_lead(clause: str) -> str:
    """Return the clause without "and", "please", "by the way" before it."""
    lead = _LEAD.match(clause)
    return clause[lead.end() :] if lead else clause


def stands(plain: str) -> bool:
    """Whether a sentence says anywhere that it is meant for the time to come."""
    return bool(_STANDS.search(plain))


def is_standing(clause: str) -> bool:
    """Whether the clause is nothing but "from now on" or its like, and belongs to another."""
    return bool(_STANDING.fullmatch(without_lead(clause)) or _ALWAYS.fullmatch(clause))


def is_occasion(clause: str) -> bool:
    """Whether the clause names an occasion that comes again: what is asked for on it is a standing wish."""
    return bool(_OCCASION.match(without_lead(clause)))


def is_tag(clause: str) -> bool:
    """Whether the clause only makes a question of the sentence before it: "..., ok?"."""
    return bool(_TAG.fullmatch(clause))


def _is_borrowed(clause: str, rest: str, place: Place) -> bool:
    """Whether a seeming imperative goes on with a statement: "she helps and never complains", "my dog, always calm"."""
    if place is Place.FREE or place is Place.OCCASION or _COURTEOUS.search(clause[: len(clause) - len(rest)]):
        return False
    if place is Place.CONJUNCTION:
        return rest.startswith(_BORROWED_HEADS)
    match = _BORROWED.match(rest)
    return bool(match and match["verb"] not in w.ACTS)


def _standing(words: list[str]) -> Reading | None:
    """Read what is no command by itself and is meant for the time to come: "you only speak French from now on"."""
    if words[0] == "you" and words[1:] and words[1] in {"only", "always", "never", "don't"}:
        return DONT if words[1] in {"never", "don't"} else DO
    return DO if words[0] in w.ACTS or "should" in words[1:4] else None


def _is_scope(scope: str) -> bool:
    """Whether the words before an imperative set a scope, and don't tell a story or hold the subject of the verb."""
    words = _WORD.findall(scope)
    return bool(words) and words[-1] not in w.PERSONS | _SUBJECTS and _TOLD.isdisjoint(words)


def _asked(words: list[str], rest: str) -> Reading | None:
    """Read "could you please ...": only wishes about the manner, since a task is asked for the same way."""
    if not words or words[0] not in _REQUEST_HEADS:
        return None
    request = _REQUEST.match(rest)
    if request is None:
        return None
    wish = rest[request.end() :]
    words = _WORD.findall(wish)[:_HEAD_WORDS]
    if not words:
        return None
    head = words[0]
    if head in {"not", "never", "don't", "didn't"} or (head == "avoiding" and "mind" in request.group()):
        return DONT
    if head in {"stop", "avoid", "refrain", "always", "only", "make", "be", "remember", "ensure"}:
        return command(words, wish) or manner(words, wish)
    if head in w.ACTS - _TASKS and not {"always", "only", "never"}.isdisjoint(words):
        return DONT if "never" in words else DO
    if _TAKES_BACK.search(wish):
        return None
    return DO if head in w.ACTS and (_STANDS.search(wish) or _OCCASION.search(wish)) else manner(words, wish)
