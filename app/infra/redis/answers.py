"""Answers of reads of user memory: from the hot copy alone while that is the truth, else made from the record."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Final
from uuid import UUID

import structlog

from app.core.audit import AuditEntry
from app.core.idempotency import Answer
from app.core.scope import Actor, Scope
from app.core.shown import Shown
from app.infra.crypto.box import Box, Place, SealError
from app.infra.db.transaction import Database
from app.infra.redis.memory import MemoryCopies

_ENDS_HEAD: Final = b"\n"

log = structlog.get_logger("cairn.redis")


class HotAnswers:
    """Gives answers again that are as they would be made now, byte for byte."""

    def __init__(self, db: Database, copies: MemoryCopies) -> None:
        """Take the record, and its hot copies."""
        self._db = db
        self._copies = copies

    async def give(self, scope: Scope, name: Sequence[str], make: Callable[[], Awaitable[Shown]]) -> Shown:
        """Return the answer of that name: what `make` would return. It must rest on nothing but the user's memory of
        now, and on what the name says. An answer that `make` raises is none, and is made each time.
        """
        # What an operator reads is read for them, and kept for nobody.
        if not self._copies.is_trusted or scope.actor is Actor.OPERATOR:
            return await make()
        box = await self._db.box(scope)
        tag = box.tag("hot_memory", json.dumps(name)).hex()
        look = await self._copies.look(scope, tag)
        if look.answer is not None:
            try:
                shown = _opened(box, tag, look.answer)
            except SealError as error:
                log.warning("hot_copy_unreadable", error=str(error))
            else:
                await self._db.saw(scope, shown.entry)
                return shown
        shown = await make()
        if look.ticket is not None:
            await self._copies.put(scope, look.ticket, shown.number, tag, _sealed(box, tag, shown))
        return shown


def _sealed(box: Box, tag: str, shown: Shown) -> bytes:
    answer, item = shown.answer, shown.entry.item
    entry = asdict(shown.entry) | {"item": item.hex if item else None}
    head = [answer.status, answer.headers, entry, shown.number, shown.version]
    return box.seal(json.dumps(head).encode() + _ENDS_HEAD + answer.body, _place(tag))


def _opened(box: Box, tag: str, sealed: bytes) -> Shown:
    head, _, body = box.open(sealed, _place(tag)).partition(_ENDS_HEAD)
    status, headers, entry, number, version = json.loads(head)
    item = UUID(hex=entry["item"]) if entry["item"] else None
    return Shown(Answer(status, headers, body), AuditEntry(**entry | {"item": item}), number, version)


def _place(tag: str) -> Place:
    return Place("hot_memory", "answer", tag.encode())
