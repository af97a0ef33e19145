"""English imperatives: "never ...", "don't ...", "only use ...", "no emojis", and wishes about how to answer."""

import re
from typing import Final

from app.infra.summarisers import english_words as w
from app.infra.summarisers.kinds import DO, DONT, WEAK_DO, WEAK_DONT, Reading, word_set

_FORGET: Final = re.compile(r"(?:ever )?(?:forget|fail|neglect)\b")
_FORGET_TO: Final = re.compile(r"(?:ever )?\w+ (?:to|that)\b")
_FORGOTTEN_WORDS: Final = frozenset({2, 3, 4})
_NEVER_IDIOMS: Final = (["say", "never"], ["stop", "dreaming"])
_ONLY_BY: Final = re.compile(rf"only (?:in {w.LANGUAGE}|by|via|through|between)\b")
_CASES: Final = ("circumstance", "condition", "account", "case", "event", "way")
_IMPORTANT: Final = re.compile(
    r"(?:it's|it is) (?:(?:very|so|really) )?(?:important|essential|crucial|critical|vital|imperative|mandatory) "
    r"(?:that your?\b|you\b|to (?:never|not|always|only)\b|not\b|.*\b(?:never|don't)\b)",
)
_AMOUNT: Final = re.compile(
    r"(?:max(?:imum)?|minimum|at most|at least|no more than|up to) (?:of )?"
    r"(?:\d|an?\b|one|two|three|four|five|six|ten|half)",
)
_ONLY_IF: Final = re.compile(
    r"only (?!if|when|because|once|after|then)\w+ .*\b(?:if|when|once|after) (?:i|you|we|it|asked|necessary)\b"
)
_FORBIDDEN: Final = re.compile(r"(?:it's|it is) (?:\w+ )?(?:forbidden|prohibited|not allowed|not permitted) to\b")
_NO_THINGS: Final = word_set(
    "one two three four five six ten a an few some when because once to then after before his her"
)
_SHORT_BAN_WORDS: Final = 3
_LONGEST_BAN_WORDS: Final = 8
_LONGEST_WISH_WORDS: Final = 6
_NOT_VERBLESS: Final = w.VERBS_OF_STATEMENTS | word_set(
    "i i'm he she they we you there if not the it it's that one for",
)
_NOT_A_WISH: Final = re.compile(r"\b(?:if|not|the) only\b")


def command(words: list[str], rest: str) -> Reading | None:
    """Read a clause that begins with a command; `words` are its first words."""
    head, after = words[0], words[1] if len(words) > 1 else ""
    if head in {"don't", "dont"}:
        return _dont(words[1:])
    if (head, after) == ("do", "not"):
        return _dont(words[2:])
    if head == "do":
        return DO if after in w.ACTS | {"always", "only"} else None
    rule = _RULES.get(head)
    return rule(words) if rule else _within(words, rest)


def _dont(words: list[str]) -> Reading | None:
    tail = " ".join(words)
    if _FORGET.match(tail):
        return DO if _FORGET_TO.match(tail) else (WEAK_DO if len(words) in _FORGOTTEN_WORDS else None)
    if words[:2] == ["you", "dare"]:
        return DONT
    if words[:1] and words[0] in {"want", "like", "eat", "drink", "need"}:
        return WEAK_DONT
    if not words or words[0] in w.IDLE_AFTER_DONT or tail in {"ask", "bother", "bother about it"}:
        return None
    return None if any(tail == idle or tail.startswith(idle + " ") for idle in w.IDLE_DONT) else DONT


def _never(words: list[str]) -> Reading | None:
    after = next((word for word in words[1:] if word not in {"ever", "please"}), "")
    idle = not after or after in w.IDLE_AFTER_NEVER or is_told(after) or words[1:3] in _NEVER_IDIOMS
    return None if idle else DONT


def _always(words: list[str]) -> Reading | None:
    after = words[1] if len(words) > 1 else ""
    return DO if after and after not in w.IDLE_AFTER_ALWAYS and not is_told(after) else None


def _avoid(words: list[str]) -> Reading | None:
    return DONT if len(words) > 1 else None


def _stop(words: list[str]) -> Reading | None:
    return DONT if len(words) > 1 and words[1].endswith("ing") else None


def _must(words: list[str]) -> Reading | None:
    """Read "must be in English", where "it" or "you" is left out."""
    after = words[1] if len(words) > 1 else ""
    if words[0] == "mustn't" or after in {"not", "never"}:
        return DONT
    return None if not after or after in w.IDLE_AFTER_I_MUST or is_guess(words[1:]) else DO


def _sure(words: list[str]) -> Reading | None:
    """Read "make sure", "be certain", "ensure", "remember to"; "be brief" is a manner."""
    head, after = words[0], words[1:3]
    if head in {"make", "be"} and not {"sure", "certain"} & set(after):
        return _within(words, " ".join(words))
    if head == "remember" and after[:1] != ["to"]:
        return None
    return DONT if {"not", "never"} & set(words[2:6]) else DO


def _only(words: list[str]) -> Reading | None:
    words = [word for word in words if word != "ever"]
    if not words[1:]:
        return None
    if words[1] in w.ACTS or _ONLY_BY.match(" ".join(words)) or _ONLY_IF.match(" ".join(words)):
        return DO
    thing = words[1:]
    is_thing = len(thing) <= _SHORT_BAN_WORDS + 1 and _NOT_VERBLESS.isdisjoint(thing) and thing[0] not in _NO_THINGS
    return WEAK_DO if is_thing and len(thing) > 1 and not is_told(thing[0]) else None


def _no(words: list[str]) -> Reading | None:
    """Read "no emojis", "no meetings before ten": a short clause without a verb. And "no longer use ..."."""
    if words[1:3] == ["more", "than"]:
        return _amount(words)
    if words[1:2] == ["longer"]:
        return DONT if words[2:] and words[2] in w.ACTS else None
    thing = words[2:] if words[1:2] == ["more"] else words[1:]
    if (
        not thing
        or len(thing) > _LONGEST_BAN_WORDS
        or thing[0] in w.IDLE_AFTER_NO
        or w.VERBS_OF_STATEMENTS & set(thing)
    ):
        return None
    is_short = len(thing) <= _SHORT_BAN_WORDS or thing[-1] in {"please", "ever", "anywhere", "whatsoever"}
    return DONT if is_short else WEAK_DONT


def _not(words: list[str]) -> Reading | None:
    return DONT if words[2:3] == ["single"] else None


def _under(words: list[str]) -> Reading | None:
    """Read "under no circumstances", "on no account", "in no case"."""
    return DONT if words[1:2] == ["no"] and words[2:] and words[2].startswith(_CASES) else None


def _try(words: list[str]) -> Reading | None:
    if words[1:3] == ["not", "to"]:
        return DONT
    return DO if words[1:2] == ["to"] and words[2:] and words[2] in {"always", "only"} else None


def _nothing(words: list[str]) -> Reading | None:
    return WEAK_DONT if words[1:] and words[1] in {"with", "containing", "over", "above"} else None


def _it(words: list[str]) -> Reading | None:
    """Read "it's important that you never ...", "it is forbidden to ..."."""
    if _FORBIDDEN.match(" ".join(words)):
        return WEAK_DONT
    if not _IMPORTANT.match(" ".join(words)):
        return None
    return DONT if {"not", "never", "don't"} & set(words[2:8]) else DO


def _amount(words: list[str]) -> Reading | None:
    """Read "max two sentences", "at least one source", "no more than 100 words"."""
    return DO if _AMOUNT.match(" ".join(words)) else None


_RULES: Final = {
    "never": _never,
    "always": _always,
    "avoid": _avoid,
    "refrain": _avoid,
    "cease": _avoid,
    "stop": _stop,
    "must": _must,
    "mustn't": _must,
    "make": _sure,
    "be": _sure,
    "ensure": _sure,
    "remember": _sure,
    "only": _only,
    "no": _no,
    "not": _not,
    "under": _under,
    "on": _under,
    "in": _under,
    "try": _try,
    "nothing": _nothing,
    "it": _it,
    "it's": _it,
    "max": _amount,
    "maximum": _amount,
    "minimum": _amount,
    "at": _amount,
    "up": _amount,
}


def _within(words: list[str], rest: str) -> Reading | None:
    """Read "use metric units only", "answer always in English", "vegetarian places only"."""
    if words[0] in w.ACTS and {"only", "always", "never"} & set(words[1:]) and not _NOT_A_WISH.search(rest):
        return DONT if "never" in words else DO
    ends = words[-1] == "only" and 1 < len(words) <= _LONGEST_WISH_WORDS
    return DO if ends and _NOT_VERBLESS.isdisjoint(words) else None


def is_told(word: str) -> bool:
    """Whether a verb is in no form of an imperative: "never tried", "always gets", "always staying"."""
    if word in w.BASE_FORMS:
        return False
    return word.endswith(("ed", "ing")) or (word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")))


def is_guess(words: list[str]) -> bool:
    """Whether what follows "must" guesses ("be so proud", "have felt great") and doesn't ask ("be under 100 words")."""
    head, after = words[0] if words else "", words[1] if len(words) > 1 else ""
    if head == "have":
        return is_told(after) or after in w.GUESSED_AFTER_HAVE
    if head != "be":
        return head == "feel"
    if after in w.MANNERS | w.BOUNDS or after[:1].isdigit():
        return False
    return not after or after in w.FEELINGS or after.endswith("ing")


_ARTICLES: Final = frozenset({"a", "an", "the", "my", "our", "at", "least", "one", "two", "free", "its", "no", "some"})
_GUESSED_THINGS: Final = word_set(
    "lot lots reason mistake mix-up typo bug glitch error virus fever cold flu cough problem point look word chat talk "
    "think nap great good nice rough hard long twin gift talent brain screw idea feeling point impression answer",
)


def is_had(words: list[str]) -> bool:
    """Whether what follows "must" names a thing to have ("have an aisle seat", "have parking") and guesses nothing."""
    if words[:1] != ["have"]:
        return False
    thing = next((word for word in words[1:] if word not in _ARTICLES), "")
    if not thing or thing in w.GUESSED_AFTER_HAVE | _GUESSED_THINGS:
        return False
    return thing in w.BASE_FORMS or not thing.endswith("ed")


_MANNER_HEADS: Final = word_set(
    "answer reply respond speak talk write communicate chat use call address refer keep be stick adhere limit restrict "
    "confine go switch change return",
)
_MANNER: Final = re.compile(
    rf"(?:go|switch|change|return)(?: back)? to {w.LANGUAGE}\b"
    rf"|(?:answer|reply|respond|speak|talk|write|communicate|chat)(?: (?:back|to me|me|everything|all|it))*(?: only|"
    rf" always)? in (?:\w+ )?{w.LANGUAGE}\b|(?:speak|use) (?:only )?{w.LANGUAGE}\b"
    r"|(?:answer|reply|respond|write|speak|talk)(?: to me)? (?:in|with|using) (?:short|plain|simple|full|complete|"
    r"bullet|formal|informal|one|two|three|lists?|tables?|lower|upper|\w+ sentences?)\b"
    r"|(?:call|address|refer to) me (?:as )?(?!(?:back|later|tomorrow|tonight|when|at|on|if|maybe|crazy|an?|old|in|"
    r"again|anytime|after|before|from|for|by|about|now|soon|then|up|paranoid|lucky|the|stupid|weird|biased)\b)\w"
    r"|keep (?:it|them|things|this|that|these|your|the|all|each|every|answers?|repl\w+|responses?)\b.*?\b(?:short|"
    r"shorter|"
    r"brief|concise|simple|formal|informal|polite|under|below|to (?:a|one|two|three|\d+)|within|private|confidential|"
    r"secret|professional|casual|between us|clean|light|up to date|that way)\b"
    r"|use (?:only )?(?!(?:the|this|that|these|those|it|my|an?|your|his|her|their|both|each|whatever|any|google)\b)\w"
    r"|(?:stick|adhere|limit yourself|restrict yourself|confine yourself) to\b",
)
_BE: Final = re.compile(r"be (?:(?:very|more|as|always|really) )*(?P<how>\w+)")
_NO_MANNERS: Final = frozenset({"sure", "kind", "quiet", "patient", "careful"})  # "be careful" is a farewell


def manner(words: list[str], rest: str) -> Reading | None:
    """Read wishes about the manner of answering that need no marker: "answer in English", "call me Bo", "be brief"."""
    if words[0] not in _MANNER_HEADS:
        return None
    being = _BE.match(rest)
    if being:
        return DO if being["how"] in w.MANNERS - _NO_MANNERS else None
    return DO if _MANNER.match(rest) else None
