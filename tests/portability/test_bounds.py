"""What an export and an import hold in memory is less than what goes through them."""

import json
import random
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

import httpx
import pytest

from app.core.scope import Scope
from app.portability.service import Exports
from app.wiring import Wiring
from tests.portability.filling import lines, opened, run_job, took

MakeScope = Callable[..., Awaitable[Scope]]
MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]

OCTETS = {"Content-Type": "application/octet-stream"}
DOCUMENT_BYTES = 20_000_000
MOST_BYTES = 14_000_000
SAID = "We looked at the offer of the harbour hotel again, 海港酒店的报价我们又看了一遍。"


@contextmanager
def bounded() -> Iterator[None]:
    """Fail where more is held at any moment than the bound."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES


@pytest.mark.timeout(900)  # the long form has 2,000 messages, and watching memory makes all of it slow
async def test_a_large_user_goes_out_and_in_through_little_memory(
    client: MakeClient, scope: MakeScope, wiring: Wiring, tenant: str, request: pytest.FixtureRequest
) -> None:
    count = 2_000 if request.config.getoption("--long") else 20
    alice, elsewhere = await client("alice"), await client("alice", in_tenant=f"{tenant}-2")
    own, other = await scope("alice"), await scope("alice", in_tenant=f"{tenant}-2")
    # Loads the model, which is none of what is measured.
    took(await alice.post("/v1/recall", json={"query": "hotel"}))
    text = random.Random(7).randbytes(DOCUMENT_BYTES // 2).hex().encode()  # noqa: S311 - what can't be packed, no secret
    files = {"file": ("large.txt", text)}
    took(await alice.post("/v1/knowledge/uploads", files=files, data={"doc_type": "log"}))
    said = "\n".join(json.dumps({"role": "user", "content": f"{number} {SAID}"}) for number in range(count))
    await take(wiring, alice, own, said.encode())
    exports = wiring.provided[Exports]
    assert isinstance(exports, Exports)
    with TemporaryFile() as kept:
        with bounded():
            async for part in await exports.begin(own, "alice"):
                kept.write(part)
        kept.seek(0)
        archive = kept.read()
    assert len(lines(opened(archive), "messages")) == count
    report = await take(wiring, elsewhere, other, archive)
    assert (report["counts"]["messages"], report["counts"]["documents"]) == ({"taken": count}, {"taken": 1})
    (document,) = took(await elsewhere.get("/v1/knowledge/documents"))["items"]
    assert (await elsewhere.get(f"/v1/knowledge/documents/{document['id']}/content")).content == text


async def take(wiring: Wiring, client: httpx.AsyncClient, scope: Scope, dump: bytes) -> dict[str, dict[str, object]]:
    sent = await client.post("/v1/users/me/import", content=dump, headers=OCTETS)
    with bounded():
        await run_job(wiring, scope, "import_archive", import_id=sent.json()["id"].removeprefix("imp_"))
    return took(await client.get(sent.headers["Location"]))
