"""What grows, and which operations are measured against it."""

from collections.abc import Callable, Iterator
from typing import Final

from app.bench.operations import APPEND, CONTEXT, PREFERENCE, RECALL, SEARCH, Makers, Operation, User

OF_A_SESSION: Final = 4
OF_CHUNKS: Final = 2
OTHERS: Final = 16

Measured = Iterator[tuple[Operation, list[User]]]


def _messages(makers: Makers, size: int) -> Measured:
    users = makers.users(OF_A_SESSION, messages=size, chunks=0)
    yield from ((operation, users) for operation in (APPEND, CONTEXT, RECALL))


def _chunks(makers: Makers, size: int) -> Measured:
    yield SEARCH, makers.users(OF_CHUNKS, chunks=size)


def _users(makers: Makers, size: int) -> Measured:
    """Ask for a few, beside whom so many others are known."""
    makers.users(max(0, size - makers.made - OTHERS), messages=1, chunks=0)
    asking = makers.users(OTHERS, chunks=0)
    yield from ((operation, asking) for operation in (APPEND, CONTEXT, PREFERENCE))


# What grows, which of the wishes says how far, and who is made and asked at a size.
Curve = tuple[str, str, Callable[[Makers, int], Measured]]
USERS: Final[tuple[Curve, ...]] = (("users", "users", _users),)
OTHER_CURVES: Final[tuple[Curve, ...]] = (
    ("messages of a session", "messages", _messages),
    ("chunks of a user", "chunks", _chunks),
)
