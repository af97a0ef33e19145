"""How an English clause takes a constraint back: "you may use tables again", "no need to cite any more", "forget that rule"."""

import re
from typing import Final

from app.infra.summarisers import english_words as w
from app.infra.summarisers.kinds import ALLOW, CANCEL, CANCEL_ALL, CANCEL_LAST, RELEASE, Reading

_AGAIN: Final = r"(?:again|now|any ?more|any longer|after all|once more|from now on|if you (?:like|want|wish|need)|too)"
_ACTS: Final = (
    "use|write|answer|reply|respond|speak|talk|mention|include|add|suggest|recommend|call|cite|format|translate|abbreviate|joke|swear|"
    "list|quote|drop|skip|leave out|contact|email|text"
)
_ALLOW: Final = re.compile(
    rf"(?:you(?: all)? (?:may|can|could|are (?:free|allowed|permitted|welcome) to)(?! (?:not|only|never)\b)(?: now| again| also)*"
    rf" (?:(?:{_ACTS})\b(?! (?:me|us)\b)|\w+\b(?=.*\b{_AGAIN}\W*$))"
    rf"|(?:it(?:'s| is) |that(?:'s| is) )?(?:ok|okay|fine|all right|alright)(?: (?:now|again|with me))? (?:to|if you|for you to) (?:now )?(?:{_ACTS})\b"
    rf"|feel free to (?:{_ACTS})\b"
    rf"|i(?:'m| am)? (?:now |again )?(?:(?:can|may) )?(?:eat|eating|drink|drinking|use|using|have|having|take|taking)\b.*\b(?:again|now)\W*$"
    r"|i (?:don't mind|no longer mind)\b|i(?:'m| am) (?:now )?(?:ok|okay|fine|cool|happy) with\b"
    rf"|(?!(?:i|we|you|he|she|they|it)\b)[\w' /-]{{2,50}}? (?:is|are) (?:now )?(?:ok|okay|fine|allowed|permitted|welcome|acceptable|good|back)"
    rf"(?: with me)?(?: to use)? (?:{_AGAIN}|(?:by|with) me\b))"
)
_ALLOWED: Final = re.compile(
    r"(?!(?:i|we|you|he|she|they|it)\b)[\w' /-]{2,50}? (?:is|are) (?:now |again )?(?:allowed|permitted)\W*$"
)
_RELEASE: Final = re.compile(
    r"(?:you|we) (?:no longer (?:have|need) to|(?:don't|do not) (?:have|need) to|needn't|need not)\b"
    r"|(?:there(?:'s| is) )?no (?:more |further )?need (?:to|for)\b"
    r"|(?!(?:i|we|you|he|she|they)\b)[\w' /-]{2,50}? (?:doesn't|does not|don't|do not|no longer) (?:have|has|need|needs) to\b"
    r"|(?!(?:i|he|she|they)\b)[\w' /-]{2,50}? (?:is|are) (?:no longer|not) (?:necessary|required|needed|mandatory)(?: any ?more)?"
    r"|(?:it(?:'s| is) )?no longer (?:necessary|required|needed)\b|i no longer (?:need|want|require|insist)\b"
)
_RULE: Final = (
    r"(?:rules?|restrictions?|constraints?|requirements?|instructions?|ban|limits?|limitations?|preferences?)"
)
_CANCEL_ALL: Final = re.compile(
    rf"(?:(?:please )?(?:forget|ignore|disregard|drop|scrap|cancel|remove|lift|revoke|discard|withdraw)|i (?:take back|withdraw|drop|lift|cancel))"
    rf" (?:all|every one|everything)?(?: of)? ?my (?:earlier |previous |old |other )?(?:rules|restrictions|constraints|requirements|"
    rf"instructions|limits|preferences)(?: (?:from before|so far|above|about (?:this|style)))?\W*$"
)
_CANCEL_LAST: Final = re.compile(
    rf"(?:forget|ignore|disregard|drop|scrap|cancel|remove|lift|revoke|discard|withdraw|scratch)(?: about)? (?:that|this|the|my) "
    rf"(?:last |latest |previous )?{_RULE}\W*$"
)
_CANCEL: Final = re.compile(
    rf"(?:forget|ignore|disregard|drop|scrap|cancel|remove|lift|revoke|discard|withdraw|never mind|scratch|i take back)(?: about)? "
    rf"(?:(?:that|this|the|my|those|these|what i said|everything i said|any)\b.*(?:\b{_RULE}\b|\bi said\b|\babout\b))"
    rf"|i(?:'ve| have)? changed my mind (?:about|on)\b"
    rf"|(?:the|my|that|your) [\w' /-]{{1,50}}?{_RULE} (?:is|are|no longer|doesn't|don't) (?:gone|lifted|cancelled|canceled|off|void|over|"
    rf"applies|apply|dropped|no longer)"
)


def read(clause: str) -> Reading | None:
    """Return how the clause takes something back, or None. It comes lower-cased and without lead words."""
    if _CANCEL_ALL.match(clause):
        return CANCEL_ALL
    if _CANCEL_LAST.match(clause):
        return CANCEL_LAST
    if _CANCEL.match(clause):
        return CANCEL
    if _RELEASE.match(clause):
        return ALLOW if re.search(r"\b(?:avoid|refrain|not use|stop)\b", clause[8:]) else RELEASE
    if _ALLOW.match(clause) or _ALLOWED.match(clause):
        return ALLOW
    return None
