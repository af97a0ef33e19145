"""Answers of reads that may be kept and given again: what is sent, and what of it others need to know."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from app.core.audit import AuditEntry
from app.core.idempotency import Answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rendering(Generic[T]):
    """How the answer of the wire is made. `shape` names its form: two versions of the service may have two."""

    shape: str
    render: Callable[[T], Answer]


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer, what the audit notes of it, and the number of the last change of user memory that it shows.

    `version` is the one that a client may have already; None where it must be told in any case.
    """

    answer: Answer
    entry: AuditEntry
    number: int
    version: int | None = None
