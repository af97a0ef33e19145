"""How an English clause is read: as a constraint, as the end of one, or as neither.

The rules aim at missing nothing that is put to the reader, and leave out what people say without meaning it so ("don't worry",
"you must be tired"), what others said or do, and questions that aren't requests. A clause comes lower-cased.
"""

import re
from enum import Enum, auto
from typing import Final

from app.infra.summarisers import english_lifting
from app.infra.summarisers import english_words as w
from app.infra.summarisers.kinds import DO, DONT, WEAK_DO, WEAK_DONT, Reading

TRIGGER: Final = re.compile(
    r"\b(?:do|don'?t|never|must|mustn'?t|always|only|avoid|stop|no|not|cannot|can'?t|may|can|could|would|will|should|shouldn'?t|"
    r"refrain|ensure|sure|remember|keep|use|answer|reply|respond|speak|talk|write|call me|address me|be|stick|from now on|"
    r"going forward|in (?:the )?future|henceforth|forget|ignore|disregard|drop|lift|cancel|scrap|revoke|allowed|fine|ok|okay|"
    r"feel free|needn'?t|need|longer|forbidden|prohibited|banned|mandatory|required|again|every|each)\b"
)


class Place(Enum):
    """What stands before a clause in its sentence: nothing that matters, an occasion that comes again ("whenever I ask"), a
    statement, or a statement and a conjunction.
    """

    FREE = auto()
    CONDITIONED = auto()
    FOLLOWING = auto()
    JOINED = auto()


_LEAD: Final = re.compile(
    r"(?:(?:and|but|so|also|then|plus|ok|okay|well|now|oh|hey|hi|hello|yes|yeah|actually|again|first|firstly|second|secondly|third|"
    r"thirdly|finally|lastly|instead|anyway|btw|by the way|fyi|ps|please|pls|plz|kindly|just|simply|remember(?! to)|note|important|"
    r"reminder|rule|seriously|in general|generally|whenever possible|where possible|if possible|at least|as a rule|one more thing|absolutely|"
    r"thanks|thank you|sorry|either|to be clear|once again|no(?= (?:please|don't|never|always)\b))\b[\s,.!)*_]*|[^\w']+)+"
)
_STANDING: Final = re.compile(
    r"(?:from (?:now|here|today|this point)(?: on(?:wards?)?| out)?|going forward|in (?:the )?future|henceforth|at all times|"
    r"for the rest of (?:this|the|our) \w+|in (?:every|all) (?:answers?|repl(?:y|ies)|responses?)|every time)\b[\s,:]*"
)
_STANDS: Final = re.compile(
    r"\b(?:from now on|going forward|from here on|in (?:the )?future|henceforth|every time|each time|by default|in general|as a rule)\b"
)
# "In this chat never ...", "When I ask for code don't ...": a scope, and then the imperative.
_SCOPE: Final = re.compile(
    r"(?:in|for|on|at|during|after|before|within|with|when|whenever|while|if|unless|until|once|about)\b(?P<scope>[^?]{1,80}?)\s"
    r"(?=(?:(?:please |kindly )?(?:never|always|don'?t|do not|only|avoid|make sure|refrain|answer|reply|respond|use|write|keep)|please)\b)"
)
_ASKING: Final = re.compile(
    r"(?:when(?:ever)?|every time|each time|any ?time) (?:i|we|my|something|someone|there|it|you(?! (?:have|are|get|finish|can)\b))\b"
    r"|if (?:i ask|you (?:quote|cite|mention|use|write|give|answer|recommend|suggest|translate|don't know))\b|unless i\b"
)
_REQUEST: Final = re.compile(
    r"(?:would you mind|(?:can|could|would|will|won't) (?:you|we)(?: all)?(?! only\b.*\?)|is it possible to|"
    r"i(?:'d| would) (?:like|love|prefer|want) you to|i(?:'d| would) (?:appreciate it|be grateful) if you(?: could| would)?|"
    r"i(?: really| just| do)? (?:want|need|expect|ask|require|beg|would like|'d like) you(?: to)?|"
    r"(?:as )?i(?:'ve| have)?(?: already| just)? (?:said|told you|asked you|asked|mentioned)(?: that| before)?(?: to)?)\b[\s,]*"
    r"(?:(?:please|kindly|also|just|maybe|perhaps|to)\b[\s,]*)*"
)
_BORROWED: Final = re.compile(r"(?:(?:always|never|only)(?: ever)? )?(?P<verb>[\w']+)")
_TAG: Final = re.compile(
    r"\W*(?:ok|okay|alright|all right|right|please|got it|understood|understand|clear|will you|would you|can you|could you|deal|"
    r"agreed|yes|yeah)?\W*"
)
_WORD: Final = re.compile(r"[\w']+")
_HEAD_WORDS: Final = 14


def stands(plain: str) -> bool:
    """Whether a sentence says anywhere that it is meant for the time to come."""
    return bool(_STANDS.search(plain))


def is_occasion(clause: str) -> bool:
    """Whether the clause names an occasion that comes again: what is asked for on it is a standing wish."""
    return bool(_ASKING.match(without_lead(clause)))


def is_standing(clause: str) -> bool:
    """Whether the clause is nothing but "from now on" or its like, and belongs to another."""
    return bool(_STANDING.fullmatch(without_lead(clause)) or re.fullmatch(r"\W*(?:please )?always\W*", clause))


def is_tag(clause: str) -> bool:
    """Whether the clause only makes a question of the sentence before it: "..., ok?"."""
    return bool(_TAG.fullmatch(clause))


def read(clause: str, after: Place = Place.FREE) -> Reading | None:
    """Return how the clause is read, or None. It is a statement: what is asked goes to `requested`."""
    rest = without_lead(clause)
    if _is_borrowed(clause, rest, after):
        return None
    if lifted := english_lifting.read(rest):
        return lifted
    if found := requested(clause):
        return found
    standing = _STANDING.match(rest)
    if standing:
        rest = without_lead(rest[standing.end() :])
    scope = _SCOPE.match(rest)
    if scope and _is_scope(scope["scope"]):
        rest = without_lead(rest[scope.end() :])
    words = _WORD.findall(rest)[:_HEAD_WORDS]
    if not words:
        return None
    found = _imperative(words, rest) or _addressed(rest) or _first_person(rest) or _impersonal(rest) or _manner(rest)
    if found is None and (
        standing or after is Place.CONDITIONED or _STANDS.search(rest) or (scope and _ASKING.match(scope.group()))
    ):
        return DO if words[0] in w.ACTS or "should" in words[1:4] else None
    return found


def requested(clause: str) -> Reading | None:
    """Return how a question is read that asks for something ("could you never ...?"), None for one about something."""
    rest = without_lead(clause)
    request = _REQUEST.match(rest)
    return _requested(rest[request.end() :], is_mild="mind" in request.group()) if request else None


def _is_borrowed(clause: str, rest: str, after: Place) -> bool:
    """Whether what looks like an imperative goes on with a statement: "she listens and never complains", "my pets, always calm"."""
    if after in {Place.FREE, Place.CONDITIONED} or re.search(
        r"\b(?:please|pls|kindly)\b", clause[: len(clause) - len(rest)]
    ):
        return False
    if after is Place.JOINED:
        return rest.startswith(("always", "never", "only", "make", "avoid", "keep", "use", "answer", "reply"))
    match = _BORROWED.match(rest)
    return bool(match and rest.startswith(("always", "never", "only")) and match["verb"] not in w.ACTS)


def without_lead(clause: str) -> str:
    lead = _LEAD.match(clause)
    return clause[lead.end() :] if lead else clause


def _is_scope(scope: str) -> bool:
    """Whether the words before an imperative set a scope, and don't tell a story or hold the subject of what follows."""
    words = _WORD.findall(scope)
    if (
        not words
        or words[-1] in w.PERSONS
        or words[-1] in {"i", "we", "you", "it", "that", "which", "really", "just", "also", "would"}
    ):
        return False
    return not {"was", "were", "had", "did", "used"} & set(words)


def _requested(rest: str, *, is_mild: bool) -> Reading | None:
    """Read what follows "could you please": only wishes about the manner, since a task is asked for the same way."""
    words = _WORD.findall(rest)[:_HEAD_WORDS]
    if not words:
        return None
    if words[0] in {"not", "never", "don't"} or (is_mild and words[0] == "avoiding"):
        return DONT
    if words[0] in {"stop", "avoid", "refrain"}:
        return _imperative(words, rest)
    if words[0] in {"always", "only", "make", "be", "remember", "ensure"}:
        return _imperative(words, rest) or _manner(rest)
    if words[0] in w.ACTS - {"tell", "explain", "show", "give", "check", "guess"} and {"always", "only", "never"} & set(
        words
    ):
        return DONT if "never" in words else DO
    return DO if _STANDS.search(rest) and words[0] in w.ACTS else _manner(rest)


def _imperative(words: list[str], rest: str) -> Reading | None:
    head, after, tail = words[0], words[1] if len(words) > 1 else "", " ".join(words[1:])
    if head == "do" and after == "not":
        head, after, tail = "don't", words[2] if len(words) > 2 else "", " ".join(words[2:])
    if head in {"don't", "dont"}:
        return _after_dont(after, tail)
    if head == "never":
        return _after_never(words)
    if head in {"avoid", "refrain", "cease"}:
        return DONT if after else None
    if head == "stop":
        return DONT if after.endswith("ing") else None
    if head == "always":
        return DO if after and after not in w.IDLE_AFTER_ALWAYS and not _is_told(after) else None
    if head in {"must", "mustn't"}:
        return _elliptic_must(head, after, words)
    if (
        head in {"make", "be"}
        and {"sure", "certain"} & set(words[1:3])
        or head == "ensure"
        or (head, after) == ("remember", "to")
    ):
        return DONT if {"not", "never"} & set(words[2:6]) else DO
    if head == "do" and after in w.ACTS | {"always", "only"}:
        return DO
    if head == "only":
        return DO if after in w.ACTS or re.match(rf"only (?:in {w.LANGUAGE}|by|via|through|between)\b", rest) else None
    if head == "not" and words[2:3] == ["single"]:
        return DONT
    if (head, after) == ("no", "longer"):
        return DONT if len(words) > 2 and words[2] in w.ACTS else None
    if head == "no":
        return _no(words)
    if head == "under" and words[1:3] == ["no", "circumstances"]:
        return DONT
    return _mid_imperative(words, rest)


def _after_dont(after: str, tail: str) -> Reading | None:
    if re.match(r"(?:ever )?(?:forget|fail|neglect)\b", tail):
        return (
            DO
            if re.match(r"(?:ever )?\w+ (?:to|that)\b", tail)
            else (WEAK_DO if len(tail.split()) in {2, 3, 4} else None)
        )
    if re.match(
        r"(?:ever )?(?:quit|give up|lose (?:hope|heart|faith)|let (?:anything|anyone|anybody)|look back|stop)\b", tail
    ):
        return None
    if after in {"want", "like", "eat", "drink", "need"}:
        return WEAK_DONT
    if (
        not after
        or after in w.IDLE_AFTER_DONT
        or any(tail == idle or tail.startswith(idle + " ") for idle in w.IDLE_DONT[:-1])
    ):
        return None
    return None if tail == w.IDLE_DONT[-1] else DONT


def _after_never(words: list[str]) -> Reading | None:
    after = next((word for word in words[1:] if word not in {"ever", "please"}), "")
    if words[1:3] in (
        ["give", "up"],
        ["look", "back"],
        ["shy", "away"],
        ["say", "never"],
        ["let", "anyone"],
        ["let", "anything"],
    ):
        return None
    return DONT if after and after not in w.IDLE_AFTER_NEVER and not _is_told(after) else None


def _is_told(word: str) -> bool:
    """Whether a verb is in no form of an imperative: "never tried", "always gets", "always staying"."""
    if word.endswith("ed"):
        return word not in w.ED_WORDS
    return word.endswith("ing") or (word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")))


def _elliptic_must(head: str, after: str, words: list[str]) -> Reading | None:
    if head == "mustn't" or after in {"not", "never"}:
        return DONT
    return None if not after or after in w.IDLE_AFTER_I_MUST or _is_guess(words[1:]) else DO


def _no(words: list[str]) -> Reading | None:
    """Read "no emojis", "no meetings before ten": a short clause without a verb of its own."""
    thing = words[1:]
    if thing[:1] == ["more"]:
        thing = thing[1:]
    if (
        not thing
        or thing[0] in w.IDLE_AFTER_NO
        or len(thing) > 8
        or {"is", "was", "are", "were", "has", "have", "can", "will"} & set(thing)
    ):
        return None
    return DONT if len(thing) <= 3 or thing[-1] in {"please", "ever", "anywhere", "whatsoever"} else WEAK_DONT


def _mid_imperative(words: list[str], rest: str) -> Reading | None:
    """Read "use metric units only", "answer always in English", "vegetarian places only"."""
    if (
        words[0] in w.ACTS
        and {"only", "always", "never"} & set(words[1:])
        and not re.search(r"\b(?:if|not|the) only\b", rest)
    ):
        return DONT if "never" in words else DO
    verbless = not {"is", "was", "were", "are", "am", "have", "had", "has", "i", "i'm", "he", "she", "they", "we", "you", "there", "if",
                    "not", "the", "it", "it's", "that", "one", "for"} & set(words)  # fmt: skip
    return DO if verbless and 2 <= len(words) <= 6 and rest.rstrip(" .!").endswith(" only") else None


_YOU: Final = re.compile(
    r"(?:assistant,? )?(?:you|your \w+(?: \w+)?)(?: all)?(?P<modal> (?:must(?:n't)?(?!')|may not|may only|can only|can never|cannot|can't|"
    r"should (?:always|never|only|not)|shouldn't|shall|are (?:not|never) (?:allowed|permitted|supposed|to)|aren't (?:allowed|permitted|"
    r"supposed)|are (?:only|forbidden|prohibited|required|to (?:always|never|only))|have to|need to|ought (?:not )?to|"
    r"will (?:always|never|only)|'d better(?: not)?|had better(?: not)?))\b\s*(?P<rest>.*)"
)


def _addressed(rest: str) -> Reading | None:
    """Read "you must", "you may only", "your answers must"."""
    match = _YOU.match(rest)
    if match is None:
        return None
    modal, words = match["modal"].strip(), _WORD.findall(match["rest"])[:_HEAD_WORDS]
    is_product = not match.group().startswith(("you ", "assistant"))
    negative = re.search(r"n't|\bnot\b|never|cannot|forbidden|prohibited", modal) or words[:1] in (["not"], ["never"])
    words = [word for word in words if word not in {"not", "never", "always", "only", "to", "really"}]
    if not words:
        return None
    if modal in {"cannot", "can't"} and not is_product and words[0] in w.IDLE_AFTER_YOU_CANT:
        return None
    if not negative and (_is_guess(words) if is_product else _is_idle_duty(modal, words, match["rest"])):
        return None
    return DONT if negative else DO


def _is_idle_duty(modal: str, words: list[str], rest: str) -> bool:
    if re.match(r"(?:always|only|never)\b", rest) or modal not in {"must", "have to", "need to", "shall", "ought to"}:
        return False
    if words[0] == "be":
        return len(words) < 2 or words[1] not in w.MANNERS
    if words[:2] == ["have", "been"] or words[0] in w.IDLE_AFTER_YOU_MUST:
        return True
    return modal != "must" and (
        words[0] not in w.ACTS or (words[0] == "keep" and words[1:2] != [] and words[1].endswith("ing"))
    )


_I: Final = re.compile(
    r"(?P<who>i|we)(?P<modal>(?: really| also| just| still| personally)*(?: (?:don't|do not|never|always|only|can only|can't|cannot|"
    r"must(?: not| never| always| only)?|mustn't|may not|am not allowed to|'m not allowed to|will never|won't|should never))"
    r"|'m (?:not|only|never) (?:allowed|able|available|free) (?:to )?| am (?:not|only|never) (?:allowed|able|available|free) (?:to )?)"
    r"\b\s*(?:ever |really |even |usually )*(?P<rest>.*)"
)
_I_WANT: Final = re.compile(
    r"i(?: really| just| do| also)? (?:want|need|expect|insist|demand|ask|prefer|would like|'d like)(?: that)? "
    r"(?:all |every |each |any )?(?:your|the|it|this|them|everything|answers?|repl\w+|responses?)\b.*\b(?P<how>never|not|only|always|must)\b|i(?: really)? (?:want|need|expect) (?!it\b|that\b|this\b|to (?!see|have)).*\b(?:for|in|with|on) (?P<each>every|each|all)\b"
)


def _first_person(rest: str) -> Reading | None:
    """Read what users say of themselves that binds: "I don't want tables", "I only eat fish", "I must be home by six"."""
    if wish := _I_WANT.match(rest):
        return WEAK_DO if wish["each"] else DONT if wish["how"] in {"never", "not"} else DO
    match = _I.match(rest)
    if match is None:
        return None
    modal, words = match["modal"], _WORD.findall(match["rest"])[:_HEAD_WORDS]
    if not words:
        return None
    negative = re.search(r"n't|not|never", modal) is not None
    if match["who"] == "we":
        return (WEAK_DONT if negative else WEAK_DO) if words[0] in w.TEAM_ACTS and "won't" not in modal else None
    if re.search(r"don't|do not|never", modal) and words[0] == "want":
        return _unwanted(words)
    if "must" in modal:
        idle = words[0] in w.IDLE_AFTER_I_MUST or words[:2] in (["be", "going"], ["be", "honest"], ["be", "dreaming"])
        return None if idle else (WEAK_DONT if negative else WEAK_DO)
    if "can't" in modal or "cannot" in modal:
        return WEAK_DONT if words[0] in w.UNABLE and words[1:2] != ["wait"] else None
    if "can only" in modal and words[0] in w.ONLY_FEELING:
        return None
    if "can only" in modal or re.search(r"allowed|able|available|free|may not", modal):
        return WEAK_DONT if negative else WEAK_DO
    if "won't" in modal or "will never" in modal:
        return WEAK_DONT if words[0] in {"eat", "drink", "accept", "pay", "use", "fly", "take"} else None
    if words[0] not in w.HABITS or words[1:] in ([], ["that"], ["it"], ["this"]) or words[:2] == ["have", "to"]:
        return None
    if words[0] in {"have", "do"} and not negative:
        return None
    return WEAK_DONT if negative else WEAK_DO


def _unwanted(words: list[str]) -> Reading | None:
    """Read what follows "I don't want": the reader's doing, or a thing; what the user won't do is nobody's business."""
    if words[1:2] in (["you"], ["your"], ["any"], ["more"]):
        return DONT
    if "to" in words[2:6]:
        return None
    if words[1:2] == ["to"]:
        return WEAK_DONT if words[2:3] and words[2] in {"see", "hear", "read", "get", "receive", "be"} else None
    return WEAK_DONT if len(words) > 1 and words[1] not in {"that", "it", "this"} else None


_IMPERSONAL: Final = re.compile(
    r"(?P<subject>[\w' /-]{2,60}?) (?P<modal>(?<!a )must(?:n't)?(?![-'])|may (?:not|only|never)|can (?:only|never|not)|cannot|can't|should (?:never|"
    r"always|only|not)|shouldn't|ha(?:s|ve) to|needs? to|(?:is|are) (?:strictly |absolutely |always |never |not )?(?:forbidden|"
    r"prohibited|banned|off[- ]limits|allowed|permitted|mandatory|required|compulsory|a must(?!-))|(?:is|are) (?:never|always|only) to)\b"
    r"\s*(?P<rest>.*)"
)
_PRODUCT: Final = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|outputs?|your|messages?|texts?|reports?|summar(?:y|ies)|code|functions?|names?|dates?|"
    r"numbers?|tables?|titles?|comments?|emails?|translations?|lists?|sentences?|paragraphs?|documents?|files?|everything|nothing|"
    r"all|every|each|any|no)\b"
)
_IT: Final = frozenset("it this that these those there here which what".split())


def _impersonal(rest: str) -> Reading | None:
    """Read "all dates must be ISO", "tables are forbidden"; not what persons must, and not guesses ("it must be late")."""
    match = _IMPERSONAL.match(rest)
    if match is None:
        return None
    subject, modal, words = _WORD.findall(match["subject"]), match["modal"], _WORD.findall(match["rest"])[:_HEAD_WORDS]
    if {"i", "i'm", "we", "if", "whether", "because", "when", "why", "how"} & set(subject) or w.PERSONS & set(subject):
        return None
    if "you" in subject and not _PRODUCT.match(match["subject"]):
        return None
    if w.REPORTS & set(subject) or "not" in subject or subject[0].endswith("n't"):
        return None
    negative = re.search(r"n't|\bnot\b|never|cannot|forbidden|prohibited|banned|off", modal) is not None or words[
        :1
    ] in (["not"], ["never"])
    if subject[-1] in _IT or subject[0] in _IT:
        shape = {
            "in",
            "under",
            "below",
            "at",
            "no",
            "less",
            "more",
            "within",
            "before",
            "after",
            "by",
            "exactly",
            "between",
            "written",
        }
        bound = modal == "must" and words[:1] == ["be"] and bool(shape & set(words[1:2]))
        return (
            (DONT if negative else DO)
            if bound or (negative and modal.startswith("must")) or words[:1] == ["never"]
            else None
        )
    if modal == "must" and not negative and _is_guess(words):
        return None
    if (
        not negative
        and modal in {"can't", "cannot", "have to", "has to", "need to", "needs to"}
        and not _PRODUCT.search(match["subject"])
    ):
        return None
    if modal in {"can't", "cannot"} and not _PRODUCT.search(match["subject"]):
        return None
    if modal.endswith(("allowed", "permitted")) and not negative and "only" not in subject:
        return None
    to_reader = re.search(r"\b(?:your?|answers?|repl(?:y|ies)|responses?|outputs?)\b", match["subject"])
    if to_reader:
        return DONT if negative else DO
    return WEAK_DONT if negative else WEAK_DO


_BOUND_SHAPES: Final = frozenset(
    "in under below at no less more within before after by exactly between written done sent checked never always only".split()
)


def _is_guess(words: list[str]) -> bool:
    """Whether what follows "must" guesses ("be so proud", "have felt great") and doesn't ask ("be under 100 words")."""
    if (
        words[:1] == ["feel"]
        or words[:1] == ["have"]
        and len(words) > 1
        and (_is_told(words[1]) or words[1] in w.GUESSED_AFTER_HAVE)
    ):
        return True
    if words[:1] != ["be"]:
        return False
    what = words[1] if len(words) > 1 else ""
    return not (what in w.MANNERS | _BOUND_SHAPES or what[:1].isdigit()) and (
        what in w.FEELINGS or what.endswith("ing") or not what
    )


_MANNER: Final = re.compile(
    rf"(?:go|switch|change|return)(?: back)? to {w.LANGUAGE}\b|"
    rf"(?:(?:answer|reply|respond|speak|talk|write|communicate|chat)(?: (?:back|to me|me|everything|all|it))*(?: only| always)? in "
    rf"(?:\w+ )?{w.LANGUAGE}\b|(?:speak|use) (?:only )?{w.LANGUAGE}\b"
    r"|(?:answer|reply|respond|write|speak|talk)(?: to me)? (?:in|with|using) (?:short|plain|simple|full|complete|bullet|formal|informal|"
    r"one|two|three|lists?|tables?|lower|upper|\w+ sentences?)\b"
    r"|(?:call|address|refer to) me (?:as )?(?!back|later|tomorrow|tonight|when|at|on|if|maybe|crazy|a\b|an\b|old|in|again|anytime|after|"
    r"before|before|from|for|by|about|now|soon|then|up|paranoid|lucky|the|stupid|weird|biased)[\w]"
    r"|keep (?:it|them|things|this|that|these|your|the|all|each|every|answers?|repl\w+|responses?)\b.*?\b(?:short|shorter|brief|concise|simple|"
    r"formal|informal|polite|under|below|to (?:a|one|two|three|\d)|within|private|confidential|secret|professional|casual|between us|"
    r"clean|light|up to date)\b"
    r"|use (?:only )?(?!the|this|that|these|those|it|my|a|an|your|his|her|their|both|each|whatever|any|google)[\w]"
    r"|be (?:very |more |as |always |really )*(?:"
    + "|".join(sorted(w.MANNERS - {"sure", "kind", "quiet", "patient", "careful"}))
    + r")\b"
    r"|(?:stick|adhere|limit yourself|restrict yourself|confine yourself) to\b)"
)


def _manner(rest: str) -> Reading | None:
    """Read wishes about the manner of answering that need no marker: "answer in English", "call me Bo", "keep it short"."""
    return DO if _MANNER.match(rest) else None
