"""English statements that bind: "you must ...", "I only eat ...", "all dates must be ...", "tables are forbidden"."""

import re
from typing import Final

from app.infra.summarisers import english_words as w
from app.infra.summarisers.english_commands import is_guess, is_had
from app.infra.summarisers.kinds import DO, DONT, WEAK_DO, WEAK_DONT, Reading, word_set

_WORD: Final = re.compile(r"[\w']+")
_HEAD_WORDS: Final = 14
_NEGATIVE: Final = re.compile(r"n't|refuse|\bnot\b|never|cannot|forbidden|prohibited|banned|off[- ]limits")

_YOU: Final = re.compile(
    r"(?P<who>you|your \w+(?: \w+)?)(?: all)? (?P<modal>must(?:n't)?(?!')|may not|may only|can only|can never|"
    r"cannot|can't|"
    r"should (?:always|never|only|not)|shouldn't|shall|are (?:not|never) (?:allowed|permitted|supposed|to)|"
    r"aren't (?:allowed|permitted|supposed)|are (?:only|forbidden|prohibited|required|to (?:always|never|only))|"
    r"have to|need to|ought (?:not )?to|will (?:always|never|only)|had better(?: not)?)\b\s*(?P<rest>.*)",
)
_ADVERBS: Final = frozenset({"not", "never", "always", "only", "to", "really"})
_DUTIES: Final = frozenset({"must", "have to", "need to", "shall", "ought to"})


def addressed(rest: str) -> Reading | None:
    """Read "you must", "you may only", "your answers must"."""
    match = _YOU.match(rest)
    if match is None:
        return None
    modal, said = match["modal"], _WORD.findall(match["rest"])[:_HEAD_WORDS]
    words = [word for word in said if word not in _ADVERBS]
    if not words:
        return None
    is_negative = bool(_NEGATIVE.search(modal)) or said[0] in {"not", "never"}
    if match["who"] != "you":
        return None if not is_negative and is_guess(words) else (DONT if is_negative else DO)
    if is_negative:
        return None if modal in {"cannot", "can't"} and words[0] in w.IDLE_AFTER_YOU_CANT else DONT
    is_idle = modal in _DUTIES and said[0] not in {"always", "only"} and _is_idle_duty(modal, words)
    return None if is_idle else DO


def _is_idle_duty(modal: str, words: list[str]) -> bool:
    if words[0] == "be":
        return len(words) == 1 or words[1] not in w.MANNERS
    if is_guess(words) or words[0] in w.IDLE_AFTER_YOU_MUST:
        return True
    goes_on = words[0] == "keep" and words[1:] and words[1].endswith("ing")
    return modal != "must" and (words[0] not in w.ACTS or bool(goes_on))


_I: Final = re.compile(
    r"(?P<who>i|we)(?P<modal>(?: really| also| just| still| personally)*(?: (?:don't|do not|never|always|only|can only|"
    r"can't|cannot|must(?: not| never| always| only)?|mustn't|refuse to|may not|will never|won't|should never))"
    r"|(?:'m| am) (?:not|only|never) (?:allowed|able|available|free)(?: to)?)"
    r"\b\s*(?:(?:ever|really|even|usually) )*(?P<rest>.*)",
)
_I_WANT: Final = re.compile(
    r"i(?: really| just| do| also)? (?:want|need|expect|insist|demand|ask|prefer|would like|'d like)(?: that)? "
    r"(?:all |every |each |any )?(?:your|the|it|this|them|everything|answers?|repl\w+|responses?)\b.*"
    r"\b(?P<how>never|not|only|always|must)\b"
    r"|i(?: really)? (?:want|need|expect) (?!it\b|that\b|this\b|to (?!see|have)).*"
    r"\b(?:for|in|with|on) (?P<each>every|each|all)\b|i(?: really)? (?:want|need) (?P<all>every|each|all)\b",
)


def first_person(rest: str) -> Reading | None:
    """Read what users say of themselves that binds: "I don't want tables", "I only eat fish", "I must be home by 6"."""
    wish = _I_WANT.match(rest)
    if wish:
        return WEAK_DO if wish["each"] or wish["all"] else (DONT if wish["how"] in {"never", "not"} else DO)
    match = _I.match(rest)
    if match is None:
        return None
    modal, words = match["modal"].strip(), _WORD.findall(match["rest"])[:_HEAD_WORDS]
    if not words:
        return None
    is_negative = bool(_NEGATIVE.search(modal))
    if match["who"] == "we":
        binds = words[0] in w.TEAM_ACTS and "won't" not in modal
    elif is_negative and words[0] == "want" and "must" not in modal:
        return _unwanted(words)
    else:
        binds = _is_of_consequence(modal, words)
    return (WEAK_DONT if is_negative else WEAK_DO) if binds else None


def _is_of_consequence(modal: str, words: list[str]) -> bool:
    """Whether what users must, can't, only or never do changes what is done for them."""
    if "must" in modal:
        if words[0] == "have":
            return is_had(words)
        return not (words[0] in w.IDLE_AFTER_I_MUST or is_guess(words[:2]) or words[:2] == ["be", "honest"])
    if "can't" in modal or "cannot" in modal:
        return words[0] in w.UNABLE and words[1:2] != ["wait"]
    if "can only" in modal:
        return words[0] not in w.ONLY_A_FEELING
    if modal.endswith(("refuse to", "to", "allowed", "able", "available", "free", "may not")):
        return True
    if "won't" in modal or "will never" in modal:
        return words[0] in w.REFUSALS
    return words[0] in w.HABITS and words[1:] not in ([], ["that"], ["it"], ["this"])


def _unwanted(words: list[str]) -> Reading | None:
    """Read what follows "I don't": the reader's doing, or a thing; what the user won't do is nobody's business."""
    after = words[1] if len(words) > 1 else ""
    if after in {"you", "your", "any", "more"}:
        return DONT
    if after == "to":
        return WEAK_DONT if words[2:] and words[2] in {"see", "hear", "read", "get", "receive", "be"} else None
    return WEAK_DONT if after not in {"", "that", "it", "this"} and "to" not in words[2:6] else None


_IMPERSONAL: Final = re.compile(
    r"(?P<subject>[\w' /-]{2,60}?) (?P<modal>(?<!a )must(?:n't)?(?![-'])|may (?:not|only|never)|can (?:only|never|not)|"
    r"cannot|can't|should (?:never|always|only|not)|shouldn't|ha(?:s|ve) to|needs? to|(?:is|are) (?:(?:strictly|"
    r"absolutely|"
    r"always|never|not) )?(?:forbidden|prohibited|banned|off[- ]limits|allowed|permitted|mandatory|required|compulsory|"
    r"a must(?!-))|(?:is|are) (?:never|always|only) to)\b\s*(?P<rest>.*)",
)
_MODALS: Final = word_set(
    "must mustn't may can cannot can't should shouldn't has have need needs forbidden prohibited banned off off-limits "
    "allowed permitted mandatory required compulsory is are",
)
_PRODUCT: Final = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|outputs?|your|messages?|texts?|reports?|summar(?:y|ies)|code|functions?|"
    r"names?|dates?|numbers?|tables?|titles?|comments?|emails?|translations?|lists?|sentences?|paragraphs?|documents?|"
    r"files?|everything|nothing|all|every|each|any|no)\b",
)
_OF_THE_READER: Final = re.compile(r"\b(?:your?|answers?|repl(?:y|ies)|responses?|outputs?)\b")
_POINTING: Final = frozenset({"it", "this", "that", "these", "those", "there", "here", "which", "what"})
_OTHERS: Final = frozenset({"i", "i'm", "we", "if", "whether", "because", "when", "why", "how", "not"})
_NEEDS: Final = frozenset({"have to", "has to", "need to", "needs to"})


def impersonal(rest: str, words: list[str]) -> Reading | None:
    """Read what things must and mustn't be; not what persons must, and not guesses ("it must be late")."""
    if _MODALS.isdisjoint(words):
        return None
    match = _IMPERSONAL.match(rest)
    if match is None:
        return None
    subject, modal, said = match["subject"], match["modal"], _WORD.findall(match["rest"])[:_HEAD_WORDS]
    named = _WORD.findall(subject)
    is_product = bool(_PRODUCT.search(subject))
    if (_OTHERS | w.PERSONS | w.REPORTS) & set(named) or named[0].endswith("n't"):
        return None
    if "you" in named and not _PRODUCT.match(subject):
        return None
    is_negative = bool(_NEGATIVE.search(modal)) or (said[:1] != [] and said[0] in {"not", "never"})
    if {named[0], named[-1]} & _POINTING:
        return _pointed_at(modal, said, is_negative=is_negative)
    if modal in _NEEDS | {"can't", "cannot"} and not is_product:
        return None
    if modal == "must" and is_guess(said) and not is_had(said):
        return None
    if not is_negative and modal.endswith(("allowed", "permitted")):
        return None
    if _OF_THE_READER.search(subject):
        return DONT if is_negative else DO
    return WEAK_DONT if is_negative else WEAK_DO


def _pointed_at(modal: str, said: list[str], *, is_negative: bool) -> Reading | None:
    """Read "it must be under 200 words", "this must not leave the room"."""
    if modal.startswith("must") and (is_negative or (said[:1] == ["be"] and not w.BOUNDS.isdisjoint(said[1:2]))):
        return DONT if is_negative else DO
    return None
