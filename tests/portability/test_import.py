"""What was exported is the same in another installation, is taken once, and never says more than its user may."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence

import asyncpg
import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from app.core.errors import AppError
from app.core.portability import Outcome, Taking
from app.core.scope import Scope
from app.infra.db.transaction import Transaction
from app.infra.embedded.stack import Stack
from app.memories.exporting import MemoryRecord
from app.memories.importing import MemoryImport
from app.portability import biting
from app.portability.model import Failure, UnreadableError
from app.portability.unzipping import Archive
from app.wiring import Wiring
from tests.conftest import USER_SCOPES, make_token
from tests.portability.filling import MERGE, NEW, Json, fill, ingest, run_job, took
from tests.portability.reading import changed, exported, read_all

MakeScope = Callable[..., Awaitable[Scope]]
MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]
Take = Callable[..., Awaitable[Json]]

NO_AGENT = re.compile(rb'"(agent|written_through|proposed_through)":null')
OCTETS = {"Content-Type": "application/octet-stream"}


@pytest_asyncio.fixture(scope="session")
async def archive(app: FastAPI) -> bytes:
    """The export of a user named alice who has some of everything."""
    token = make_token("alice", "t-of-the-archive")
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url="http://cairn.test",
        headers={"Authorization": f"Bearer {token}"},
        timeout=30,
    ) as alice:
        await fill(alice)
        return await exported(alice)


@pytest.fixture
def take(wiring: Wiring, scope: MakeScope) -> Take:
    """Import an archive as the product does, with the worker's part done here; return what became of it."""

    async def imported(client: httpx.AsyncClient, data: bytes, sub: str, tenant: str, **query: str) -> Json:
        sent = await client.post("/v1/users/me/import", content=data, headers=OCTETS, params=query)
        assert sent.status_code == 202, sent.text
        made = sent.json()
        own = await scope(sub, in_tenant=tenant)
        await run_job(wiring, own, "import_archive", import_id=made["id"].removeprefix("imp_"))
        return took(await client.get(sent.headers["Location"]))

    return imported


async def test_an_export_is_the_same_in_another_installation(
    client: MakeClient, scope: MakeScope, wiring: Wiring, take: Take, tenant: str
) -> None:
    alice, elsewhere = await client("alice"), await client("alice", in_tenant=f"{tenant}-2")
    made = await fill(alice)
    await ingest(wiring, await scope("alice"), made["documents"])
    report = await take(elsewhere, await exported(alice), "alice", f"{tenant}-2")
    assert (report["state"], report["keeps_trust"], report["problems"]) == ("done", True, [])
    documents = took(await elsewhere.get("/v1/knowledge/documents"))["items"]
    await ingest(wiring, await scope("alice", in_tenant=f"{tenant}-2"), documents)
    there, here = await read_all(elsewhere), await read_all(alice)
    for kind in here:
        assert there[kind] == here[kind], kind


async def test_an_archive_that_is_imported_twice_is_there_once(
    client: MakeClient, take: Take, tenant: str, archive: bytes
) -> None:
    elsewhere = await client("alice")
    first = await take(elsewhere, archive, "alice", tenant)
    before = await read_all(elsewhere)
    second = await take(elsewhere, archive, "alice", tenant)
    assert await read_all(elsewhere) == before
    taken = {kind: count["taken"] for kind, count in first["counts"].items() if "taken" in count}
    assert taken == {
        "sessions": 1,
        "messages": 4,
        "documents": 2,
        "profile": 2,
        "preferences": 6,
        "candidates": 1,
        "inferred": 1,
        "memories": 4,
    }
    assert {kind: count["unchanged"] for kind, count in second["counts"].items() if "unchanged" in count} == taken
    assert second["problems"] == []


async def test_an_archive_that_comes_home_changes_nothing(client: MakeClient, take: Take, tenant: str) -> None:
    alice = await client("alice")
    await fill(alice)
    before = await read_all(alice)
    report = await take(alice, await exported(alice), "alice", tenant)
    assert all(set(count) <= {"unchanged", "left_out"} for count in report["counts"].values())
    assert await read_all(alice) == before


async def test_what_is_here_stays_and_is_told_as_a_conflict(
    client: MakeClient, take: Take, tenant: str, archive: bytes
) -> None:
    elsewhere = await client("alice")
    took(await elsewhere.put("/v1/preferences/tone", json={"value": "formal"}, headers=NEW))
    took(await elsewhere.put("/v1/preferences/units", json={"value": "公制"}, headers=NEW))
    took(await elsewhere.post("/v1/sessions", json={"external_id": "thread-7", "title": "Here"}))
    merge = {"If-Match": '"0"', "Content-Type": MERGE}
    took(await elsewhere.patch("/v1/profile", content=json.dumps({"name": "韩梅梅"}), headers=merge))
    report = await take(elsewhere, archive, "alice", tenant)
    told = {(each["file"], each["reason"]) for each in report["problems"]}
    assert told == {
        ("preferences.jsonl", "exists"),
        ("profile.jsonl", "differs"),
        ("sessions.jsonl", "external_id_exists"),
    }
    assert {each["outcome"] for each in report["problems"]} == {"conflict"}
    assert took(await elsewhere.get("/v1/preferences/tone"))["value"] == "formal"
    assert took(await elsewhere.get("/v1/profile"))["name"] == "韩梅梅"
    assert report["counts"]["preferences"] == {"conflict": 2, "unchanged": 1, "taken": 3}
    assert report["counts"]["messages"] == {"taken": 4}
    titles = [each["title"] for each in took(await elsewhere.get("/v1/sessions"))["items"]]
    assert sorted(titles) == ["Here", "Reise 旅行"]


@pytest.mark.parametrize(
    ("sub", "scopes"),
    [("bob", USER_SCOPES), ("alice", USER_SCOPES.replace(" preferences:explicit", ""))],
    ids=["somebody else's", "who may not state"],
)
async def test_nobody_gets_anothers_word_as_their_own(
    client: MakeClient, take: Take, tenant: str, sub: str, scopes: str, archive: bytes
) -> None:
    other = await client(sub, scope=scopes)
    report = await take(other, archive, sub, tenant)
    assert (report["state"], report["keeps_trust"]) == ("done", False)
    tone = took(await other.get("/v1/preferences/tone/history"))["items"]
    assert {(each["trust"], each["source"]) for each in tone} == {("imported", "import")}
    units = took(await other.get("/v1/preferences/units"))
    assert (units["trust"], units["source"]) == ("inferred", "import")
    facts = took(await other.get("/v1/memories", params={"kind": "memory"}))["items"]
    assert {(each["trust"], each["source"]) for each in facts} == {("imported", "imported")}
    history = took(await other.get("/v1/profile/history"))["items"]
    assert {each["source"] for each in history} == {"import"}


async def test_what_a_token_may_not_write_isnt_taken(
    client: MakeClient, take: Take, tenant: str, archive: bytes
) -> None:
    elsewhere = await client("alice", scope="memories preferences:read")
    report = await take(elsewhere, archive, "alice", tenant)
    assert report["counts"]["memories"] == {"taken": 4}
    refused = {kind for kind, count in report["counts"].items() if set(count) == {"refused"}}
    assert refused == {"sessions", "messages", "documents", "profile", "preferences", "candidates", "inferred"}
    assert {each["reason"] for each in report["problems"]} == {"missing_scope"}


async def test_numbers_that_are_never_stored_are_masked_on_the_way_in(
    client: MakeClient, take: Take, tenant: str, archive: bytes
) -> None:
    elsewhere = await client("alice")
    card = "4111111111111111"
    archive = changed(
        archive,
        lambda name, data: data.replace(b"Ruff", card.encode()) if name == "memories.jsonl" else data,
    )
    report = await take(elsewhere, archive, "alice", tenant)
    assert report["problems"] == []
    facts = took(await elsewhere.get("/v1/memories", params={"kind": "memory"}))["items"]
    assert [each["text"] for each in facts] == ["有一只叫[银行卡号已隐去]的狗。"]


async def test_one_bad_line_costs_that_line_alone(client: MakeClient, take: Take, tenant: str) -> None:
    alice, elsewhere = await client("alice"), await client("alice", in_tenant=f"{tenant}-2")
    took(await alice.post("/v1/memories", json={"text": "Has a dog."}))

    def spoil(name: str, data: bytes) -> bytes:
        if name != "memories.jsonl":
            return data
        far = b'{"id": "mem_' + b"0" * 32 + b'", "text": "' + b"x" * 5_000_000 + b'"}\n'
        deep = b"[" * 100_000 + b"\n"
        nul = data.replace(b"Has a dog.", b"a \\u0000 b").replace(b'"mem_', b'"mem_x')
        return b"not json\n" + far + deep + b"\xff\xfe\n\n" + nul + data

    report = await take(elsewhere, changed(await exported(alice), spoil), "alice", f"{tenant}-2")
    assert report["state"] == "done"
    assert report["counts"]["memories"] == {"refused": 6, "taken": 1}
    assert [(each["line"], each["reason"]) for each in report["problems"]] == [
        (1, "invalid"),
        (2, "too_long"),
        (3, "invalid"),
        (4, "invalid"),
        (5, "invalid"),
        (6, "invalid"),
    ]


async def test_nothing_that_somebody_has_put_there_is_kept_as_it_is(
    client: MakeClient, take: Take, tenant: str, archive: bytes, stack: Stack
) -> None:
    """Names of agents and of files stand in the database as they are: they are none of the archive's to make up."""
    elsewhere = await client("alice")

    def spoil(name: str, data: bytes) -> bytes:
        if name == "manifest.json":
            return data.replace(b'"counts": {', b'"counts": {"the quetzal": 7, ')
        return re.sub(rb'"(agent|written_through|proposed_through)":null', rb'"\\1":"the quetzal"', data)

    report = await take(elsewhere, changed(archive, spoil), "alice", tenant)
    assert all(
        "taken" not in count for name, count in report["counts"].items() if name not in {"messages", "documents"}
    )
    assert "quetzal" not in json.dumps(report)
    connection = await asyncpg.connect(stack.admin_url, database="cairn")
    try:
        assert "quetzal" not in str(await connection.fetch("SELECT * FROM imports WHERE tenant = $1", tenant))
    finally:
        await connection.close()


@pytest.mark.parametrize("harm", ["cut", "no manifest", "later version", "not a zip", "twice", "empty"])
async def test_what_is_no_whole_archive_is_refused_at_once(client: MakeClient, harm: str) -> None:
    alice = await client("alice")
    archive = await exported(alice)
    bad = {
        "cut": archive[: len(archive) // 2],
        "no manifest": changed(archive, lambda name, data: None if name == "manifest.json" else data),
        "later version": changed(archive, lambda _, data: data.replace(b'"format_version": 1', b'"format_version": 9')),
        "not a zip": b"PK\x03\x04" + bytes(1000),
        "twice": changed(archive, lambda _, data: data, again=True),
        "empty": b"",
    }[harm]
    answer = await alice.post("/v1/users/me/import", content=bad, headers=OCTETS)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
    # Nothing of it waits.
    for _ in range(4):
        assert (await alice.post("/v1/users/me/import", content=bad, headers=OCTETS)).status_code == 422


async def test_what_unpacks_too_large_is_given_up(
    client: MakeClient, take: Take, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, elsewhere = await client("alice"), await client("alice", in_tenant=f"{tenant}-2")
    took(await alice.post("/v1/memories", json={"text": "Has a dog."}))
    spaces = b" " * 3_000_000
    bomb = changed(await exported(alice), lambda name, data: data + spaces if name == "memories.jsonl" else data)
    assert len(bomb) < 50_000
    monkeypatch.setattr(Archive, "_take", _most(1_000_000))
    report = await take(elsewhere, bomb, "alice", f"{tenant}-2")
    assert (report["state"], report["failure"]) == ("failed", "unpacks_too_large")


async def test_a_worker_that_dies_between_two_bites_goes_on_where_it_was(
    client: MakeClient, scope: MakeScope, wiring: Wiring, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, elsewhere = await client("alice"), await client("alice", in_tenant=f"{tenant}-2")
    for number in range(7):
        took(await alice.post("/v1/memories", json={"text": f"Fact {number}."}))
    monkeypatch.setattr(biting, "BITE", 2)
    sent = await elsewhere.post("/v1/users/me/import", content=await exported(alice), headers=OCTETS)
    own = await scope("alice", in_tenant=f"{tenant}-2")
    monkeypatch.setattr(MemoryImport, "take", _dying(after=2))
    with pytest.raises(RuntimeError):
        await run_job(wiring, own, "import_archive", import_id=sent.json()["id"].removeprefix("imp_"))
    at = sent.headers["Location"]
    assert took(await elsewhere.get(at))["counts"]["memories"] == {"taken": 4}
    monkeypatch.undo()
    await run_job(wiring, own, "import_archive", import_id=sent.json()["id"].removeprefix("imp_"))
    report = took(await elsewhere.get(at))
    assert (report["state"], report["counts"]["memories"]) == ("done", {"taken": 7})
    assert len(took(await elsewhere.get("/v1/memories"))["items"]) == 7


async def test_two_workers_on_one_import_take_it_once(
    client: MakeClient, scope: MakeScope, wiring: Wiring, monkeypatch: pytest.MonkeyPatch, archive: bytes
) -> None:
    elsewhere = await client("alice")
    monkeypatch.setattr(biting, "BITE", 1)
    sent = await elsewhere.post("/v1/users/me/import", content=archive, headers=OCTETS)
    own = await scope("alice")
    import_id = sent.json()["id"].removeprefix("imp_")
    await asyncio.gather(*(run_job(wiring, own, "import_archive", import_id=import_id) for _ in range(4)))
    report = took(await elsewhere.get(sent.headers["Location"]))
    assert (report["state"], report["problems"]) == ("done", [])
    assert report["counts"]["messages"] == {"taken": 4}
    assert report["counts"]["memories"] == {"taken": 4}


async def test_whoever_is_forgotten_meanwhile_stays_forgotten(
    client: MakeClient, scope: MakeScope, wiring: Wiring, archive: bytes
) -> None:
    elsewhere = await client("alice")
    own = await scope("alice")
    sent = await elsewhere.post("/v1/users/me/import", content=archive, headers=OCTETS)
    answer = await elsewhere.delete("/v1/users/me")
    stores = {each["kind"]: each for each in answer.json()["certificate"]["document"]["stores"]}
    assert (stores["imports"]["before"], stores["imports"]["remaining"]) == (2, 0)
    with pytest.raises(AppError) as refused:
        await run_job(wiring, own, "import_archive", import_id=sent.json()["id"].removeprefix("imp_"))
    assert refused.value.code in {"erasing", "erased"}


async def test_nothing_of_an_archive_stays_when_it_was_taken(
    client: MakeClient, take: Take, tenant: str, stack: Stack, archive: bytes
) -> None:
    elsewhere = await client("alice")
    await take(elsewhere, archive, "alice", tenant)
    connection = await asyncpg.connect(stack.admin_url, database="cairn")
    try:
        assert await connection.fetchval("SELECT count(*) FROM import_parts WHERE tenant = $1", tenant) == 0
    finally:
        await connection.close()


async def test_a_repeated_import_is_answered_again(client: MakeClient) -> None:
    alice = await client("alice")
    archive = await exported(alice)
    headers = OCTETS | {"Idempotency-Key": "once"}
    first = await alice.post("/v1/users/me/import", content=archive, headers=headers)
    second = await alice.post("/v1/users/me/import", content=archive, headers=headers)
    assert (first.json(), second.headers["Idempotent-Replayed"]) == (second.json(), "true")
    other = await alice.post("/v1/users/me/import", content=archive + b" ", headers=headers)
    assert other.status_code == 422


async def test_an_import_is_its_users_alone(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    sent = await alice.post("/v1/users/me/import", content=await exported(alice), headers=OCTETS)
    assert (await bob.get(sent.headers["Location"])).status_code == 404
    wrong = await alice.post("/v1/users/me/import", json={"results": []})
    assert (wrong.status_code, wrong.json()["code"]) == (415, "unsupported_media_type")


def _dying(after: int) -> Callable[..., Awaitable[Sequence[Outcome]]]:
    """Return how facts are taken by a worker that is killed after some bites."""
    take, left = MemoryImport.take, after

    async def taken(
        own: MemoryImport, tx: Transaction, taking: Taking, records: Sequence[MemoryRecord]
    ) -> Sequence[Outcome]:
        nonlocal left
        if not left:
            raise RuntimeError("killed")
        left -= 1
        return await take(own, tx, taking, records)

    return taken


def _most(size_bytes: int) -> Callable[[Archive, int], None]:
    taken = 0

    def take(_: Archive, size: int) -> None:
        nonlocal taken
        taken += size
        if taken > size_bytes:
            raise UnreadableError(Failure.UNPACKS_TOO_LARGE)

    return take


async def test_an_import_ends_where_the_user_wants_nothing_new_to_be_kept(
    client: MakeClient, scope: MakeScope, wiring: Wiring, archive: bytes
) -> None:
    elsewhere = await client("alice")
    sent = await elsewhere.post("/v1/users/me/import", content=archive, headers=OCTETS)
    choice = {"remember": False, "infer": True, "external_models": True}
    took(await elsewhere.put("/v1/users/me/processing", json=choice, headers={"If-Match": '"1"'}))
    own = await scope("alice")
    await run_job(wiring, own, "import_archive", import_id=sent.json()["id"].removeprefix("imp_"))
    report = took(await elsewhere.get(sent.headers["Location"]))
    assert (report["state"], report["failure"], report["counts"]) == ("failed", "processing_stopped", {})
    assert took(await elsewhere.get("/v1/sessions"))["items"] == []
