"""An export holds everything about its user and nobody else, as of one moment, and is held nowhere."""

import asyncio
import hashlib
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime

import asyncpg
import httpx
import pytest
from jsonschema_rs import Draft202012Validator

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.portability import ArchiveFile
from app.core.scope import Actor, Scope
from app.erasure.service import Erasures
from app.infra.db.transaction import Transaction
from app.infra.embedded.stack import Stack
from app.portability import service
from app.portability.format import schema_of
from app.portability.manifest import Manifest
from app.portability.service import Exports
from app.portability.zipping import Zip
from app.portable import exported
from app.wiring import Wiring
from tests.conftest import eventually
from tests.portability.filling import TEXT, fill, ingest, lines, opened, took

MakeScope = Callable[..., Awaitable[Scope]]
MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]


async def test_an_export_holds_everything_and_its_manifest_tells_what(
    client: MakeClient, scope: MakeScope, wiring: Wiring
) -> None:
    alice = await client("alice")
    made = await fill(alice)
    await ingest(wiring, await scope("alice"), made["documents"])
    answer = await alice.get("/v1/users/me/export")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/zip"
    archive = opened(answer.content)
    manifest = json.loads(archive.read("manifest.json"))
    assert archive.namelist() == [*(file["path"] for file in manifest["files"]), "manifest.json"]
    for file in manifest["files"]:
        data = archive.read(file["path"])
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["size_bytes"], file["sha256"])
    assert manifest["counts"] == {
        name.removesuffix(".jsonl"): len(archive.read(name).splitlines())
        for name in archive.namelist()
        if name.endswith(".jsonl")
    }
    assert all(manifest["counts"][name] for name in manifest["counts"] if name not in {"marks", "registered_secrets"})
    assert [version["attributes"] for version in lines(archive, "profile")][-1] == {"城市": "杭州"}
    said = [(each["key"], each["version"], each["state"], each["value"]) for each in lines(archive, "preferences")]
    assert ("tone", 1, "kept", {"tone": "正式"}) in said
    assert ("tone", 2, "kept", "casual") in said
    assert ("gone", 1, "erased", None) in said
    assert {(each["key"], each["value"]) for each in lines(archive, "candidates")} == {("tone", "terse")}
    assert [(each["kind"], each["key"], each["value"]) for each in lines(archive, "inferred")] == [
        ("profile", "company", "海德")
    ]
    assert [each["text"] for each in lines(archive, "memories") if each["state"] == "kept"] == [
        "Has a dog named Ruff.",
        "有一只叫Ruff的狗。",
    ]
    messages = lines(archive, "messages")
    assert [message["id"] for message in messages] == [message["id"] for message in made["messages"]]
    assert messages[0]["constraints"] == ["Never call me before nine."]
    assert messages[1]["tool_calls"][0]["id"] == "call-1"
    text, upload = made["documents"]
    assert archive.read(f"documents/{text['id']}/original").decode() == TEXT
    assert archive.read(f"documents/{text['id']}/text.txt").decode() == TEXT
    assert "预算为九百万" in archive.read(f"documents/{upload['id']}/text.txt").decode()
    assert archive.read(f"documents/{upload['id']}/original")[:2] == b"PK"
    assert lines(archive, "contexts")[0]["feedback"]["correction"] == "The Harbour one."


async def test_every_line_of_an_export_is_as_the_schema_says(client: MakeClient) -> None:
    alice = await client("alice")
    await fill(alice)
    archive = opened((await alice.get("/v1/users/me/export")).content)
    models: Mapping[str, type] = {path: model for kind in exported() for path, model in kind.records.items()}
    assert {*models, "manifest.json"} == {name for name in archive.namelist() if "/" not in name}
    Draft202012Validator(schema_of(Manifest)).validate(json.loads(archive.read("manifest.json")))
    for path, model in models.items():
        schema = Draft202012Validator(schema_of(model))
        for line in archive.read(path).splitlines():
            schema.validate(json.loads(line))


async def test_an_export_is_in_the_audit_before_its_first_byte_and_in_itself(client: MakeClient) -> None:
    alice = await client("alice")
    took(await alice.put("/v1/preferences/tone", json={"value": "casual"}, headers={"If-None-Match": "*"}))
    await alice.get("/v1/users/me/export")
    second = opened((await alice.get("/v1/users/me/export")).content)
    assert [each["action"] for each in lines(second, "audit")].count("export") == 1
    trail = took(await alice.get("/v1/audit", params={"action": "export"}))["items"]
    assert [(entry["actor"], entry["kind"]) for entry in trail] == [("user", "user")] * 2


async def test_an_operators_export_bears_their_reason_and_not_whose_it_is(
    wiring: Wiring, client: MakeClient, scope: MakeScope
) -> None:
    alice = await client("alice")
    own = await scope("alice")
    exports = wiring.provided[Exports]
    assert isinstance(exports, Exports)
    by_operator = Scope(own.tenant, own.usr, None, Actor.OPERATOR, "req_o", "private", None, "a court asked 法院要求")
    archive = opened(b"".join([part async for part in await exports.begin(by_operator, None)]))
    assert json.loads(archive.read("manifest.json"))["subject"] is None
    (entry,) = took(await alice.get("/v1/audit", params={"action": "export"}))["items"]
    assert (entry["actor"], entry["reason"]) == ("operator", "a court asked 法院要求")


async def test_nothing_of_anybody_else_is_in_an_export(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await fill(alice)
    archive = opened((await bob.get("/v1/users/me/export")).content)
    manifest = json.loads(archive.read("manifest.json"))
    assert {name: count for name, count in manifest["counts"].items() if count} == {
        "audit": manifest["counts"]["audit"]
    }


async def test_an_export_needs_its_scope(client: MakeClient) -> None:
    alice = await client("alice", scope="sessions memories profile preferences knowledge context audit")
    answer = await alice.get("/v1/users/me/export")
    assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")


async def test_what_is_written_while_an_export_runs_isnt_in_it(
    wiring: Wiring, client: MakeClient, scope: MakeScope
) -> None:
    alice = await client("alice")
    took(await alice.post("/v1/memories", json={"text": "Before."}))
    exports = Exports(wiring.db, [_Slow(alice), *exported()], {})
    archive = opened(b"".join([part async for part in await exports.begin(await scope("alice"), "alice")]))
    assert [each["text"] for each in lines(archive, "memories")] == ["Before."]
    assert len(took(await alice.get("/v1/memories"))["items"]) == 2


async def test_a_client_that_stalls_is_given_up_and_holds_no_transaction(
    wiring: Wiring, scope: MakeScope, stack: Stack
) -> None:
    exports = Exports(wiring.db, [_Endless()], {}, stall_s=0.2)
    archive = await exports.begin(await scope(), None)
    assert await anext(archive)
    assert await _exporting(stack) == 1
    while await _exporting(stack):  # noqa: ASYNC110 - what is waited for is a transaction of the database
        await asyncio.sleep(0.05)
    with pytest.raises(service.StalledError):
        _ = [part async for part in archive]


async def test_a_client_that_hangs_up_holds_no_transaction(wiring: Wiring, scope: MakeScope, stack: Stack) -> None:
    exports = Exports(wiring.db, [_Endless()], {})
    archive = await exports.begin(await scope(), None)
    await anext(archive)
    await archive.aclose()  # type: ignore[attr-defined] # what a server does where the client has gone: it's a generator
    while await _exporting(stack):  # noqa: ASYNC110 - what is waited for is a transaction of the database
        await asyncio.sleep(0.05)


async def test_more_exports_than_a_process_takes_at_once_are_refused(wiring: Wiring, scope: MakeScope) -> None:
    exports = Exports(wiring.db, [_Endless()], {})
    own = await scope()
    running = [await exports.begin(own, None) for _ in range(service.MAX_AT_ONCE)]
    with pytest.raises(AppError) as refused:
        await exports.begin(own, None)
    assert refused.value.code == "overloaded"
    for archive in running:
        assert await anext(archive)
        await archive.aclose()  # type: ignore[attr-defined] # as above

    async def has_room() -> bool:
        try:
            return bool(await anext(await exports.begin(own, None)))
        except AppError:
            return False

    await eventually(has_room)


async def test_whoever_is_forgotten_meanwhile_isnt_read_to_the_end(
    wiring: Wiring, scope: MakeScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LOOK_S", 0.0)
    erasures = wiring.provided[Erasures]
    assert isinstance(erasures, Erasures)
    own = await scope()
    archive = await Exports(wiring.db, [_Endless()], {}).begin(own, None)
    await anext(archive)
    await erasures.forget(own, stop=False)
    with pytest.raises(AppError) as refused:
        _ = [part async for part in archive]
    assert refused.value.code in {"erasing", "erased"}


async def test_a_large_archive_isnt_held_in_memory() -> None:
    """32 MB go through, 300,000 lines: what is held is a few chunks."""
    packed = Zip(datetime.now(UTC))
    line = b'{"text":"' + bytes(range(97, 123)) * 4 + b'"}\n'

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(1_500):
            yield line * 200

    size = 0
    tracemalloc.start()
    try:
        async for chunk in packed.add(ArchiveFile("messages.jsonl", parts())):
            size += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert packed.files[0].records == 300_000
    assert peak < 2_000_000


class _Endless:
    """A kind that gives more than anybody takes."""

    tables: tuple[str, ...] = ()
    records: Mapping[str, type] = {}

    async def files(self, _: Transaction) -> AsyncIterator[ArchiveFile]:
        yield ArchiveFile("endless", self._parts(), is_packed=True)

    async def _parts(self) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0)
            yield bytes(100_000)


class _Slow:
    """A kind that comes first, and while it is read the user says something."""

    tables: tuple[str, ...] = ()
    records: Mapping[str, type] = {}

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        tx.saw(AuditEntry("read", "memory"))
        took(await self._client.post("/v1/memories", json={"text": "Meanwhile."}))
        yield ArchiveFile("slow", _nothing())


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


async def _exporting(stack: Stack) -> int:
    """Return how many transactions are idle while their client does something else."""
    connection = await asyncpg.connect(stack.urls.database)
    try:
        asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cairn' AND state LIKE 'idle in%'"
        found: int = await connection.fetchval(asked)
        return found
    finally:
        await connection.close()
