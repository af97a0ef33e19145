"""Reads are in the audit within moments, or before the answer; where the audit can't be reached, nobody is answered
without it who must not be.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import pytest

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.ids import uuid7
from app.core.scope import Actor, Scope
from app.infra.audit import writer
from app.infra.audit.writer import AuditWriter
from app.settings import Settings
from tests.audit.conftest import Owner

USERS = Scope("t-reads", uuid4(), None)
OPERATORS = replace(USERS, actor=Actor.OPERATOR)
NOBODY_LISTENS = "postgresql://cairn_log@127.0.0.1:1/cairn"


@asynccontextmanager
async def writing(url: str, *, awaits_reads: bool = False) -> AsyncIterator[AuditWriter]:
    made = AuditWriter(url, awaits_reads=awaits_reads)
    task = asyncio.create_task(made.run())
    yield made
    made.close()
    await task


async def is_noted(owner: Owner, entry: AuditEntry) -> bool:
    return bool(await owner.fetchval("SELECT count(*) FROM audit_log WHERE item = $1", entry.item))


@pytest.mark.parametrize(
    ("scope", "action", "awaits_reads"),
    [(USERS, "read", True), (OPERATORS, "read", False), (USERS, "export", False)],
    ids=["by setting", "operators", "exports"],
)
async def test_it_is_there_before_the_answer(
    settings: Settings,
    owner: Owner,
    scope: Scope,
    action: str,
    awaits_reads: bool,  # noqa: FBT001 - a table
) -> None:
    async with writing(settings.database_log_url.get_secret_value(), awaits_reads=awaits_reads) as log:
        for _ in range(3):
            entry = AuditEntry(action, "thing", uuid7())
            await log.saw(scope, [entry])
            assert await is_noted(owner, entry)


async def test_a_user_is_not_made_to_wait_and_it_comes(settings: Settings, owner: Owner) -> None:
    async with writing(settings.database_log_url.get_secret_value()) as log:
        entry = AuditEntry("read", "thing", uuid7())
        await log.saw(USERS, [entry])
        assert not await is_noted(owner, entry)
        await log.flushed()
        assert await is_noted(owner, entry)


async def test_who_waits_is_answered_while_others_keep_coming(settings: Settings, owner: Owner) -> None:
    """It is enough that one's own entry is there: under load there is always another one that isn't."""
    async with writing(settings.database_log_url.get_secret_value()) as log:
        going = True

        async def come() -> None:
            while going:
                log.put(USERS, AuditEntry("read", "thing"))
                await asyncio.sleep(0)

        others = asyncio.create_task(come())
        entry = AuditEntry("read", "thing", uuid7())
        await log.saw(OPERATORS, [entry])
        assert await is_noted(owner, entry)
        going = False
        await others


async def test_nobody_is_answered_without_it_who_must_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "WAIT_S", 0.1)
    monkeypatch.setattr(writer, "RETRY_S", 0.01)
    async with writing(NOBODY_LISTENS) as log:
        await log.saw(USERS, [AuditEntry("read", "thing")])
        for scope, action in ((OPERATORS, "read"), (USERS, "export")):
            with pytest.raises(AppError) as refused:
                await log.saw(scope, [AuditEntry(action, "thing")])
            assert refused.value.code == "store_unavailable"
        monkeypatch.setattr(writer, "BACKLOG", 3)
        with pytest.raises(AppError):
            await log.saw(OPERATORS, [AuditEntry("read", "thing")])
        assert log.lost == 1
