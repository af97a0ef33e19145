"""Forgetting: complete, provable, repeatable, and not to be undone by what is in flight."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import httpx
import pytest
from click.testing import CliRunner

from app.commands.keys import verify_certificate
from app.core.errors import AppError
from app.core.memory import Retention, UserData
from app.core.scope import Scope
from app.erasure.service import Erasures
from app.infra.crypto.signing import verify
from app.infra.embedded.stack import Stack
from app.infra.redis.userdata import HotData
from app.wiring import Wiring

MakeScope = Callable[..., Awaitable[Scope]]
MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]


async def fill(client: httpx.AsyncClient) -> None:
    """Give a user some of every kind of data."""
    session = (await client.post("/v1/sessions", json={"title": "a title"})).json()
    messages = [
        {"role": "user", "content": "Never call me before nine."},
        {"role": "assistant", "content": "Understood."},
    ]
    assert (await client.post(f"/v1/sessions/{session['id']}/messages", json={"messages": messages})).status_code == 201
    created = await client.put("/v1/preferences/language", json={"value": "zh-CN"}, headers={"If-None-Match": "*"})
    assert created.is_success
    merge = {"If-Match": '"0"', "Content-Type": "application/merge-patch+json"}
    assert (await client.patch("/v1/profile", content=json.dumps({"name": "Alice"}), headers=merge)).is_success
    document = {"text": "The contract ends in May.", "doc_type": "contract"}
    assert (await client.post("/v1/knowledge/documents", json=document)).status_code == 202
    assert (await client.post("/v1/context", json={"query": "hello", "session_id": session["id"]})).is_success


async def test_forgetting_empties_every_store_and_certifies_it(client: MakeClient, stack: Stack) -> None:
    alice = await client("alice")
    await fill(alice)
    answer = await alice.delete("/v1/users/me")
    assert answer.status_code == 200
    certificate = answer.json()["certificate"]
    stores = certificate["document"]["stores"]
    before = {store["kind"]: store["before"] for store in stores}
    assert all(before[kind] > 0 for kind in ("sessions", "preferences", "profile", "keys", "memory_log", "index"))
    assert {store["store"] for store in stores} == {"postgres", "redis", "chroma", "keys"}
    assert {store["remaining"] for store in stores} == {0}
    reference = certificate["document"]["reference"]
    left = await rows_of(stack, UUID(hex=reference.removeprefix("usr_")))
    assert set(left) == {"users", "audit_log", "erasures"}


async def test_the_certificate_is_signed_and_an_altered_one_is_not(client: MakeClient, tmp_path: Path) -> None:
    alice = await client("alice")
    answer = (await alice.delete("/v1/users/me")).json()
    signed = answer["certificate"]
    keys = (await alice.get("/.well-known/cairn-keys.json")).json()
    assert verify(signed["document"], signed["signature"]["value"], keys["keys"][0])
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(answer))
    answer["certificate"]["document"]["stores"][0]["remaining"] = 1
    bad.write_text(json.dumps(answer))
    command = ["--keys", str(tmp_path / "keys.json")]
    assert CliRunner().invoke(verify_certificate, [str(good), *command]).exit_code == 0
    assert CliRunner().invoke(verify_certificate, [str(bad), *command]).exit_code == 1


async def test_the_certificate_names_no_person(client: MakeClient) -> None:
    alice = await client("alice-quetzal")
    await fill(alice)
    answer = await alice.delete("/v1/users/me")
    assert "quetzal" not in answer.text.lower()


async def test_asking_again_answers_the_same_certificate(client: MakeClient) -> None:
    alice = await client("alice")
    first, second = await alice.delete("/v1/users/me"), await alice.delete("/v1/users/me")
    assert first.json() == second.json()


async def test_two_at_once_are_one_erasure(client: MakeClient) -> None:
    alice = await client("alice")
    await fill(alice)
    answers = await asyncio.gather(*(alice.delete("/v1/users/me") for _ in range(4)))
    assert {answer.json()["id"] for answer in answers} == {answers[0].json()["id"]}
    assert {answer.status_code for answer in answers} <= {200, 202}
    assert 200 in {answer.status_code for answer in answers}


async def test_an_old_token_is_gone_and_a_new_one_starts_empty(client: MakeClient) -> None:
    import time  # noqa: PLC0415 - the one test that needs a clock

    alice = await client("alice")
    await fill(alice)
    await alice.delete("/v1/users/me")
    for path in ("/v1/preferences", "/v1/profile", "/v1/sessions"):
        refused = await alice.get(path)
        assert (refused.status_code, refused.json()["code"]) == (410, "erased")
    later = int(time.time()) + 61
    soon = await client("alice", iat=later - 40)
    assert (await soon.get("/v1/preferences")).json()["code"] in {"erased", "unauthorized"}


async def test_with_stop_the_person_does_not_come_back(client: MakeClient) -> None:
    alice = await client("alice")
    assert (await alice.delete("/v1/users/me?then=stop")).status_code == 200
    refused = await alice.get("/v1/preferences")
    assert (refused.status_code, refused.json()["code"]) == (403, "processing_stopped")


async def test_stop_may_be_asked_for_afterwards(client: MakeClient) -> None:
    alice = await client("alice")
    assert not (await alice.delete("/v1/users/me")).json()["stopped"]
    later = await alice.delete("/v1/users/me?then=stop")
    assert (later.status_code, later.json()["stopped"]) == (200, True)
    assert (await alice.get("/v1/preferences")).json()["code"] == "processing_stopped"


async def test_other_users_keep_everything(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await fill(alice)
    await fill(bob)
    paths = ("/v1/preferences/language", "/v1/profile", "/v1/sessions", "/v1/memory-log")
    before = [(await bob.get(path)).json() for path in paths]
    await alice.delete("/v1/users/me")
    assert [(await bob.get(path)).json() for path in paths] == before


async def test_an_erasure_is_read_and_verified_by_its_receipt_alone(
    client: MakeClient, app_client: httpx.AsyncClient
) -> None:
    alice = await client("alice")
    await fill(alice)
    done = (await alice.delete("/v1/users/me")).json()
    receipt = {"Cairn-Receipt": done["receipt"]}
    read = await app_client.get(f"/v1/erasures/{done['id']}", headers=receipt)
    assert read.json()["certificate"] == done["certificate"]
    checked = (await app_client.post(f"/v1/erasures/{done['id']}/verify", headers=receipt)).json()
    assert checked["clean"], checked["remaining"]
    wrong = done["receipt"][:-4] + "0000"
    assert (await app_client.get(f"/v1/erasures/{done['id']}", headers={"Cairn-Receipt": wrong})).status_code == 404
    assert (await app_client.get(f"/v1/erasures/{done['id']}")).status_code == 422


class Breaking:
    """A kind of data whose store fails as often as it is told to, and that is erased otherwise."""

    name = "breaking"
    store = "postgres"
    tables: tuple[str, ...] = ()
    retained: Retention | None = None

    def __init__(self, failures: Mapping[str, int]) -> None:
        self.left = dict(failures)
        self.there = 3

    async def erase(self, scope: Scope) -> None:
        del scope
        self._fail("erase")
        self.there = 0

    async def count(self, scope: Scope) -> int:
        del scope
        self._fail("count")
        return self.there

    def _fail(self, step: str) -> None:
        if self.left.get(step, 0):
            self.left[step] -= 1
            raise AppError("store_unavailable")


@pytest.mark.parametrize("step", ["count", "erase"])
async def test_a_store_that_is_down_is_waited_for(wiring: Wiring, scope: MakeScope, step: str) -> None:
    alice = await scope()
    breaking = Breaking({step: 2})
    kinds: list[UserData] = [*wiring.user_data, breaking]
    hot = next(kind for kind in kinds if isinstance(kind, HotData))
    erasures = Erasures(wiring.db, wiring.vault, wiring.directory, hot, kinds, timedelta(hours=1), None)
    erasure = await erasures.forget(alice)
    assert erasure.state == "running"
    with pytest.raises(AppError):
        await erasures.proceed(alice)
    await erasures.proceed(alice)
    done = await erasures.read(alice)
    assert done.state == "done"
    assert done.before is not None
    assert done.before["breaking"] == 3


async def rows_of(stack: Stack, usr: UUID) -> dict[str, int]:
    """Count the user's rows in every table, as an administrator sees them."""
    connection = await asyncpg.connect(stack.admin_url.rsplit("/", 1)[0] + "/cairn")
    try:
        tables = await connection.fetch(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE a.attname = 'usr' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
        )
        counts = {
            row["relname"]: await connection.fetchval(f"SELECT count(*) FROM {row['relname']} WHERE usr = $1", usr)  # noqa: S608 - names from the catalogue
            for row in tables
        }
    finally:
        await connection.close()
    return {name: found for name, found in counts.items() if found}
