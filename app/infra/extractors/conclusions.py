"""What a complaint or praise about an answer lets one conclude of how its author wants to be answered."""

import re
from typing import Final

from app.infra.extractors import english, values
from app.infra.extractors.said import is_hearsay, words_of
from app.infra.extractors.topics import Topic
from app.infra.summarisers.directives import directives
from app.infra.summarisers.kinds import Kind as Act
from app.infra.summarisers.reading import Sentence

# "Every time you do", 又: what is told of the reader and looks like an order.
_AGAIN: Final = re.compile(r"每次都|又")
# "Do you send customers emojis?" is no complaint; "why do you always" is.
_ASKED: Final = re.compile(
    r"^(?!.*(?:又|总|每次|老是|怎么|为什么|非要|一直|能不能|干嘛|太|这么|那么|没|不)).*吗[？?]?\s*$",
)


def conclusion(sentence: Sentence) -> Topic | None:
    """Return what a sentence lets one conclude; None where it asks for something itself, or says nothing of answers."""
    words, plain = words_of(sentence.plain), sentence.plain
    if words.HYPOTHETICAL.search(plain) or words.NOT_SAID.search(plain) or is_hearsay(plain, words):
        return None
    if words is english and words.WISH.search(plain) and not words.SARCASM.search(plain):
        return None
    found = None if sentence.is_question else _praised(plain)
    found = found or (None if _ASKED.search(plain) else _complained(plain))
    return None if found is None or (_orders(sentence) and not _AGAIN.search(plain)) else found


def _praised(plain: str) -> Topic | None:
    words = words_of(plain)
    made = words.YOU_MADE.search(plain) if words.PRAISE.search(plain) else None
    name = next((name for name, pattern in words.FORMATS if re.search(pattern, made[1])), None) if made else None
    return Topic("format", name) if name else None


def _complained(plain: str) -> Topic | None:
    for key, value, pattern in words_of(plain).COMPLAINT:
        if match := pattern.search(plain):
            named = next((part for part in match.groups() if part), None)
            return Topic(key, value or (values.language(named) if named else "native"))
    return None


def _orders(sentence: Sentence) -> bool:
    return any(act.kind in {Act.DO, Act.DONT} and not act.is_weak for act in directives(sentence))
