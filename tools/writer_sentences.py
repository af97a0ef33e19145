"""Sentences that the writer's model is trained with, beside the data sets: made of parts, in English and Chinese.

The parts (writer_sentences.json) were written for this project. They balance what the data sets don't have: questions
and tasks of a working day, wishes and habits in English, talk of others, of once and of what might be.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

PARTS = Path(__file__).with_suffix(".json")
STOPS = {"en": ".", "zh": "。"}


def sentences(seed: int, count: int) -> Iterator[tuple[str, int]]:
    """Yield so many sentences of each sort and language, each with whether it states something of its author."""
    draw = random.Random(seed)  # noqa: S311 - examples, not secrets
    parts: dict[str, dict[str, list[str]]] = json.loads(PARTS.read_text(encoding="utf-8"))
    for _ in range(count):
        for language, part in parts.items():
            liked = draw.choice(part["stances"]).format(draw.choice(part["liked"])) + draw.choice(part["because"])
            yield _ended(draw, liked, STOPS[language]), 1
            self = draw.choice(part["selves"]).format(place=draw.choice(part["places"]), job=draw.choice(part["jobs"]))
            yield _ended(draw, self, STOPS[language]), 1
            for _ in range(2):
                yield draw.choice(part["asked"]).format(*draw.sample(part["liked"], 2)), 0


def _ended(draw: random.Random, text: str, stop: str) -> str:
    return draw.choice((text, text + stop, text + stop, text.lower(), text + "!"))
