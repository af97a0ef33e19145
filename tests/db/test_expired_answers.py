"""Answers that are kept for retries go when their day is over, bite by bite, and no others do."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
import pytest
from sqlalchemy import func, select, update

from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.infra.db import expired_answers
from app.infra.db.expired_answers import EXPIRED_JOB, ExpiredAnswers
from app.infra.db.tables import idempotency
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope


async def post(client: httpx.AsyncClient, key: str, title: str = "x") -> httpx.Response:
    return await client.post("/v1/sessions", json={"title": title}, headers={"Idempotency-Key": key})


async def expire(wiring: Wiring, scope: Scope) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    async with wiring.db.write(scope) as tx:
        await tx.change(
            update(idempotency).filter_by(usr=scope.usr).values(expires_at=past), AuditEntry("age", "answer")
        )


async def kept(wiring: Wiring, scope: Scope) -> int:
    async with wiring.db.read(scope) as tx:
        number: int = await tx.scalar(select(func.count()).select_from(idempotency).filter_by(usr=scope.usr))
        return number


async def test_what_is_past_its_day_goes_and_nothing_else(
    client: MakeClient, scope: MakeScope, wiring: Wiring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expired_answers, "BITE_ANSWERS", 2)
    alice, bob = await client("alice"), await client("bob")
    hers, his = await scope("alice"), await scope("bob")
    for number in range(5):
        assert (await post(alice, f"old-{number}")).status_code == 201
    assert (await post(bob, "new")).status_code == 201
    await expire(wiring, hers)
    assert (await post(alice, "young")).status_code == 201

    async def due() -> set[UUID]:
        return {usr async for _, usr in ExpiredAnswers(wiring.db).due()} & {hers.usr, his.usr}

    assert await due() == {hers.usr}
    handler = next(each for each in wiring.handlers if each.name == EXPIRED_JOB)
    for _ in range(2):
        await handler.run(hers, {})
        assert (await kept(wiring, hers), await kept(wiring, his)) == (1, 1)
    assert await due() == set()
    again = await post(alice, "young")
    assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert (await post(alice, "old-0", "another request")).status_code == 201, "the key is free again"


async def test_every_worker_looks_for_them(wiring: Wiring) -> None:
    assert EXPIRED_JOB in {kind.job for kind in wiring.age_watch._kinds}  # noqa: SLF001 - it shows them nowhere
