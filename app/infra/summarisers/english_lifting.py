"""How an English clause takes a constraint back: "you may use tables again", "no need to cite", "forget that rule"."""

import re
from typing import Final

from app.infra.summarisers.kinds import ALLOW, CANCEL, CANCEL_ALL, CANCEL_LAST, RELEASE, Reading, word_set

_WORDS: Final = word_set(
    "may can could free ok okay fine alright right allowed permitted welcome acceptable good back mind again now "
    "longer don't not needn't need doesn't forget ignore disregard drop scrap cancel remove lift revoke discard "
    "withdraw never scratch changed take gone lifted cancelled canceled off void over",
)
_AGAIN: Final = r"(?:again|now|any ?more|any longer|after all|once more|from now on|if you (?:like|want|wish|need)|too)"
# What is taken back without "again" must be of the manner of answering: "you can see the picture" is none.
_ACTS: Final = (
    r"(?:use|write|answer|reply|respond|speak|talk|mention|include|add|suggest|recommend|call|cite|format|translate|"
    r"abbreviate|joke|swear|list|quote|drop|skip|leave out|contact|email|text)"
)
_NO_PERSON: Final = r"(?!(?:i|we|you|he|she|they|it)\b)[\w' /-]{2,50}?"
_ALLOW: Final = re.compile(
    r"you(?: all)? (?:may|can|could|are (?:free|allowed|permitted|welcome) to)(?! (?:not|only|never)\b)(?: now|"
    r" again| also)*"
    rf" (?:{_ACTS}\b(?! (?:me|us)\b)|\w+\b(?=.*\b{_AGAIN}\W*$))"
    r"|(?:it(?:'s| is) |that(?:'s| is) )?(?:ok|okay|fine|all right|alright)(?: (?:now|again|with me))? (?:to|if you|"
    r"for you to)"
    rf" (?:now )?{_ACTS}\b|feel free to {_ACTS}\b"
    r"|i(?:'m| am)? (?:(?:now|again) )?(?:(?:can|may) )?(?:eat|eating|drink|drinking|use|using|have|having|take|"
    r"taking)\b.*\b(?:again|now)\W*$"
    r"|i (?:don't mind|no longer mind)\b|i(?:'m| am) (?:now )?(?:ok|okay|fine|cool|happy) with\b"
    rf"|{_NO_PERSON} (?:is|are) (?:now )?(?:ok|okay|fine|allowed|permitted|welcome|acceptable|good|back)(?: with me)?"
    rf"(?: to use| for \w+(?: \w+)?)? (?:{_AGAIN}|(?:by|with) me\b)|{_NO_PERSON} (?:is|are) (?:now |"
    rf"again )?(?:allowed|permitted)\W*$",
)
_RELEASE: Final = re.compile(
    r"(?:you|we) (?:no longer (?:have|need) to|(?:don't|do not) (?:have|need) to|needn't|need not)\b"
    r"|(?:there(?:'s| is) )?no (?:more |further )?need (?:to|for)\b"
    rf"|{_NO_PERSON} (?:doesn't|does not|don't|do not|no longer) (?:have|has|need|needs) to\b"
    r"|it (?:doesn't|does not|no longer) (?:have|has|need|needs) to\b"
    rf"|{_NO_PERSON} (?:is|are) (?:no longer|not) (?:necessary|required|needed|mandatory)(?: any ?more)?"
    r"|(?:it(?:'s| is) )?no longer (?:necessary|required|needed)\b|i no longer (?:need|want|require|insist)\b",
)
_RELEASES_A_BAN: Final = re.compile(r"\b(?:avoid|refrain|not use|stop)\b")
_RULE: Final = (
    r"(?:rules?|restrictions?|constraints?|requirements?|instructions?|ban|limits?|limitations?|preferences?)"
)
_UNDO: Final = r"(?:forget|ignore|disregard|drop|scrap|cancel|remove|lift|revoke|discard|withdraw|scratch|never mind)"
# "My" has to be there: "ignore all previous instructions" is what stands in pages that someone pastes.
_CANCEL_ALL: Final = re.compile(
    rf"(?:{_UNDO}|i (?:take back|withdraw|drop|lift|cancel))(?: about)?(?: all| every one| everything)?(?: of)? my "
    r"(?:(?:earlier|previous|old|other) )?(?:rules|restrictions|constraints|requirements|instructions|limits|"
    r"preferences)(?: (?:from before|so far|above))?\W*$",
)
_CANCEL_LAST: Final = re.compile(
    rf"{_UNDO}(?: about)? (?:that|this|the|my) (?:(?:last|latest|previous) )?{_RULE}\W*$",
)
_CANCEL: Final = re.compile(
    rf"(?:{_UNDO}|i take back)(?: about)? (?:that|this|the|my|those|these|what i said|everything i said|any)\b.*"
    rf"(?:\b{_RULE}\b|\bi said\b|\babout\b)"
    r"|i(?:'ve| have)? changed my mind (?:about|on)\b"
    rf"|(?:the|my|that|your) [\w' /-]{{1,50}}?{_RULE} (?:is|are|no longer|doesn't|don't) (?:gone|lifted|cancelled|"
    rf"canceled|"
    r"off|void|over|applies|apply|dropped|no longer)",
)


def lifted(words: list[str], rest: str) -> Reading | None:
    """Return how the clause takes something back, or None."""
    if _WORDS.isdisjoint(words):
        return None
    if _CANCEL_ALL.match(rest):
        return CANCEL_ALL
    if _CANCEL_LAST.match(rest):
        return CANCEL_LAST
    if _CANCEL.match(rest):
        return CANCEL
    if _RELEASE.match(rest):
        return ALLOW if _RELEASES_A_BAN.search(rest) else RELEASE
    return ALLOW if _ALLOW.match(rest) else None
