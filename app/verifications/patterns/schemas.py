"""Patterns on the wire. The body isn't masked as others are: its examples are numbers, which are kept nowhere."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from app.core.withholding import withheld_text
from app.verifications.patterns.model import MAX_EXAMPLES, MAX_EXPRESSION_CHARS, Check, Entry, Registration
from app.web.wire import Answer, Moment, Request

MAX_DESCRIPTION_CHARS = 1_000
MAX_EXAMPLE_CHARS = 200


class PatternRequest(Request):
    """What the tenant says of a kind of number.

    `expression` is a regular expression in the syntax of RE2, without `*`, `+` and `{n,}`: it says how often something
    may come at most. It is looked for in the text with full-width letters and digits in their plain form, next to
    Chinese text too, and never inside a longer number. `check` is how the last character follows from the others.
    Each of the `examples` must fit; they are kept nowhere.
    """

    takes_secrets = True
    expression: Annotated[str, Field(min_length=1, max_length=MAX_EXPRESSION_CHARS, examples=[r"EMP-\d{6}"])]
    check: Literal["luhn", "iso7064_mod11_2", "none"]
    examples: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_EXAMPLE_CHARS)]],
        Field(min_length=1, max_length=MAX_EXAMPLES),
    ]
    description: Annotated[str, Field(max_length=MAX_DESCRIPTION_CHARS)] = ""


class PatternAnswer(Answer):
    """A registered pattern. What fits it is masked before anything is written, for every user of the tenant."""

    name: str
    version: int
    expression: str
    check: str = Field(examples=["luhn", "iso7064_mod11_2", "none"])
    description: str
    updated_at: Moment


class PatternsAnswer(Answer):
    """All registered patterns, in their order."""

    items: list[PatternAnswer]


def registration(body: PatternRequest) -> Registration:
    """Return what a body says of a pattern."""
    return Registration(body.expression, Check(body.check), withheld_text(body.description))


def pattern_answer(entry: Entry) -> PatternAnswer:
    """Show a registered pattern."""
    said = entry.registration
    if said is None:
        raise TypeError("a stub isn't shown")
    return PatternAnswer(
        name=entry.name,
        version=entry.version,
        expression=said.expression,
        check=said.check.value,
        description=said.description,
        updated_at=entry.updated_at,
    )


def patterns_answer(entries: Sequence[Entry]) -> PatternsAnswer:
    """Show all registered patterns."""
    return PatternsAnswer(items=[pattern_answer(entry) for entry in entries])
