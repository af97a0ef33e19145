"""One attempt at a write under a key of the client's, so that a repeated request has one effect."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.core.errors import AppError

KEEP_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that was given first, kept to be given again."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a client sent under `Idempotency-Key`.

    `request` is a digest of everything the effect depends on. `render` makes the answer of the wire from what the
    service
    returns, so that the answer can be kept in the transaction of the effect; `refuse` makes it of a refusal.
    """

    route: str
    key: str
    request: bytes
    render: Callable[[Any], Answer]  # Any: each service returns a type of its own
    refuse: Callable[[AppError], Answer]


class Replayed(Exception):  # noqa: N818 - not an error: it carries the first answer out of the transaction that found it
    """Raised where an attempt had its effect already; the web layer sends the first answer again."""

    def __init__(self, answer: Answer) -> None:
        """Carry the answer that was given first."""
        super().__init__("replayed")
        self.answer = answer
