"""A sentence as its author means it of themselves: what is of others, of another time or asked is blanked, in place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import ModuleType
from typing import Final

from app.infra.extractors import chinese, english
from app.infra.extractors.profile import profile
from app.infra.extractors.topics import Clause, Topic, topics
from app.infra.summarisers.directives import Directive, directives
from app.infra.summarisers.kinds import Kind as Act
from app.infra.summarisers.reading import BLANK, Sentence

_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_SPLIT: Final = re.compile(r"[,;，；—–]|\bbut\b|\band (?=i\b)|但是?|不过")
# What comes after "write a bio:" is a text that is being made.
MADE_UP: Final = re.compile(
    r"\b(?:write|draft|compose|prepare|generate|create|finish|complete|continue|imagine)\b"
    r"(?! (?:to )?me\b|.*\bto me\b)[^:]{0,60}:"
    r"|(?:写|拟|起草|续写|生成|编)(?!给我)[^：:]{1,24}[：:]"
)
_TO_ME: Final = re.compile(r"给我|跟我|对我|回我")
_OWN_BEGINNING: Final = re.compile(
    r"\W*(?:and |so |but )?(?:please |pls )?(?:i |i'm|i'd|call|answer|reply|use|don't|never|always)"
)
_NOTHING: Final = BLANK + " .,!?。，！？;；、"


@dataclass(frozen=True)
class Said:
    """A sentence, what of it its author says of themselves, and the clauses that bind a reader or take back."""

    sentence: Sentence
    clause: Clause
    acts: Sequence[Directive]

    @property
    def words(self) -> ModuleType:
        return self.clause.words

    @property
    def own(self) -> str:
        return self.clause.plain

    @property
    def kinds(self) -> frozenset[Act]:
        return frozenset(act.kind for act in self.acts if self.own[act.start : act.end].strip(BLANK))

    @cached_property
    def about(self) -> Sequence[Topic]:
        """What it is about, of the ways to be answered."""
        return topics(self.clause)

    @cached_property
    def facts(self) -> Sequence[Topic]:
        """What it tells of its author."""
        return tuple(profile(self.clause))


def words_of(plain: str) -> ModuleType:
    """Return the words of the language that a text is in."""
    return chinese if _HAN.search(plain) else english


def said(sentence: Sentence) -> Said | None:
    """Return what an author says of themselves in a sentence; of a question what comes before what is asked. None where
    that is nothing.
    """
    words, plain = words_of(sentence.plain), sentence.plain
    is_request = bool(words.REQUEST.search(plain))
    own = list(plain)
    made_up = MADE_UP.search(plain)
    starts = sorted({0, *(match.start() for match in _SPLIT.finditer(plain)), len(plain)})
    if made_up is not None:
        starts = sorted({*starts, made_up.end() - 1})
    for first, last in pairwise(starts):
        is_asked = sentence.is_question and not is_request and last == len(plain)
        is_made_up = made_up is not None and first >= made_up.end() - 1
        if is_asked or is_made_up or is_past(plain[first:last], words) or is_hearsay(plain[first:last], words):
            # What parts the pieces stays: values end there.
            begin = first + (first > 0)
            own[begin:last] = BLANK * (last - begin)
    clause = Clause(sentence.text, "".join(own), words)
    return Said(sentence, clause, directives(sentence)) if clause.plain.strip(_NOTHING) else None


def is_past(piece: str, words: ModuleType) -> bool:
    """Say whether a clause is of a time that is over."""
    return bool(words.PAST.search(piece)) and not words.PRESENT.search(piece)


def is_hearsay(piece: str, words: ModuleType) -> bool:
    """Say whether a clause is of somebody else."""
    if not words.HEARSAY.search(piece):
        return False
    return not (_TO_ME.search(piece) if words is chinese else _OWN_BEGINNING.match(piece))
