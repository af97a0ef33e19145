"""Assembly: what is late or broken costs the answer its kinds and nothing else; reasons are kept and found again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import httpx
import pytest
from sqlalchemy import select

from app.context.service import Contexts, Models
from app.context.tables import memory_log
from app.core.assembly import Ask, Reason
from app.core.errors import AppError
from app.core.ids import parse
from app.core.memory import Candidate, Question, Tier
from app.core.scope import Scope
from app.core.superseding import Superseding
from app.infra.embedders.texts import estimated_tokens
from app.sessions.store import hold_session
from app.usage.service import UsageMeter
from app.wiring import Wiring

MakeScope = Callable[..., Awaitable[Scope]]
MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]
ALL = frozenset({"preferences", "recall", "knowledge"})


class Answering:
    """A source of one memory, which it has ready."""

    def __init__(self, kind: str, tier: Tier) -> None:
        self.kinds = frozenset({kind})
        self._candidate = Candidate(kind, f"{kind}_1", 1, f"the text of {kind}", tier, "stated")

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        del scope, question
        return [self._candidate]


class Hanging(Answering):
    """A source that doesn't answer until it is let."""

    def __init__(self, kind: str, tier: Tier) -> None:
        super().__init__(kind, tier)
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        self.asked.set()
        await self.let.wait()
        return await super().gather(scope, question)


class Broken(Answering):
    """A source with a fault."""

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        del scope, question
        raise ZeroDivisionError


def ask(require: frozenset[str] = frozenset()) -> Ask:
    """Ask for all kinds."""
    return Ask("what do I like?", None, 1_000, ALL, require, None)


def contexts(wiring: Wiring, *sources: Answering, deadline_s: float = 0.05) -> Contexts:
    """Assemble from these sources alone."""
    return Contexts(
        wiring.db, sources, Models({None: len}, "none@1"), deadline_s, hold_session, Superseding([]), UsageMeter()
    )


async def lines_of(client: httpx.AsyncClient, session_id: str) -> list[str]:
    """Return what the memory log has of a session."""
    answer = await client.get("/v1/memory-log", params={"session_id": session_id})
    assert answer.status_code == 200, answer.text
    return [item["context_id"] for item in answer.json()["items"]]


async def test_what_was_asked_in_a_session_goes_with_it(client: MakeClient, wiring: Wiring, scope: MakeScope) -> None:
    alice = await client()
    gone, stays = [(await alice.post("/v1/sessions", json={})).json()["id"] for _ in range(2)]
    for session_id in (gone, stays, None):
        asked = {"query": "what do I like?", "include": ["messages"], "session_id": session_id}
        assert (await alice.post("/v1/context", json=asked)).status_code == 200
    assert len(await lines_of(alice, gone)) == 1
    assert (await alice.delete(f"/v1/sessions/{gone}", headers={"If-Match": "*"})).status_code == 204
    assert await lines_of(alice, gone) == []
    assert len(await lines_of(alice, stays)) == 1
    async with wiring.db.read(await scope("alice")) as tx:
        assert len(await tx.rows(select(memory_log.c.id))) == 2


async def test_nothing_is_noted_of_a_session_that_is_deleted_meanwhile(
    client: MakeClient, wiring: Wiring, scope: MakeScope
) -> None:
    alice, caller = await client(), await scope("alice")
    session_id = (await alice.post("/v1/sessions", json={})).json()["id"]
    source = Hanging("recall", Tier.FOUND)
    asked = Ask("what?", parse("ses", session_id), 1_000, frozenset({"recall"}), frozenset(), None)
    assembling = asyncio.create_task(contexts(wiring, source, deadline_s=20).assemble(caller, asked))
    await source.asked.wait()
    assert (await alice.delete(f"/v1/sessions/{session_id}", headers={"If-Match": "*"})).status_code == 204
    source.let.set()
    with pytest.raises(AppError, match="not_found"):
        await assembling
    async with wiring.db.read(caller) as tx:
        assert await tx.rows(select(memory_log.c.id)) == []


async def test_a_source_that_hangs_or_breaks_costs_its_kind_alone(wiring: Wiring, scope: MakeScope) -> None:
    service = contexts(
        wiring,
        Answering("preferences", Tier.CONSTRAINTS),
        Hanging("recall", Tier.FOUND),
        Broken("knowledge", Tier.FOUND),
        deadline_s=0.5,
    )
    assembled = await service.assemble(await scope(), ask())
    assert assembled.missing == ["knowledge", "recall"]
    assert "the text of preferences" in assembled.packed.prompt
    reasons = {decision.kind: decision.reason for decision in assembled.packed.decisions}
    assert reasons == {
        "preferences": Reason.LOADED,
        "recall": Reason.SOURCE_LATE,
        "knowledge": Reason.SOURCE_FAILED,
    }


async def test_what_is_required_and_broken_is_no_answer(wiring: Wiring, scope: MakeScope) -> None:
    with pytest.raises(AppError) as refused:
        await contexts(wiring, Broken("preferences", Tier.CONSTRAINTS)).assemble(await scope(), ask(ALL))
    assert refused.value.code == "store_unavailable"


async def test_what_is_required_and_late_is_waited_for(wiring: Wiring, scope: MakeScope) -> None:
    slow = Hanging("preferences", Tier.CONSTRAINTS)
    asyncio.get_running_loop().call_later(0.2, slow.let.set)
    assembled = await contexts(wiring, slow).assemble(await scope(), ask(frozenset({"preferences"})))
    assert assembled.missing == []


async def test_the_reasons_are_kept_and_found_by_session_and_by_context(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    said = {"messages": [{"role": "user", "content": "Never use tables."}]}
    await alice.post(f"/v1/sessions/{session}/messages", json=said)
    made = (await alice.post("/v1/context", json={"query": "how?", "session_id": session})).json()
    assert "Never use tables." in made["prompt"]
    read = (await alice.get(f"/v1/memory-log/{made['context_id']}")).json()
    assert read["decisions"] == made["decisions"]
    assert read["query"] == "how?"
    listed = (await alice.get(f"/v1/memory-log?session_id={session}")).json()
    assert [line["context_id"] for line in listed["items"]] == [made["context_id"]]
    assert (await bob.get(f"/v1/memory-log/{made['context_id']}")).status_code == 404
    assert (await bob.get(f"/v1/memory-log?session_id={session}")).json()["items"] == []


async def test_a_context_sees_user_memory_as_its_snapshot_does(client: MakeClient) -> None:
    alice = await client("alice")
    first = await alice.put("/v1/preferences/tone", json={"value": "formal"}, headers={"If-None-Match": "*"})
    then = (await alice.post("/v1/context", json={"query": "how?"})).json()
    await alice.put("/v1/preferences/tone", json={"value": "casual"}, headers={"If-Match": first.headers["ETag"]})
    now = (await alice.post("/v1/context", json={"query": "how?"})).json()
    again = (await alice.post("/v1/context", json={"query": "how?", "snapshot": then["snapshot"]})).json()
    assert ["formal" in made["prompt"] for made in (then, now, again)] == [True, False, True]
    assert again["snapshot"] == then["snapshot"] != now["snapshot"]
    assert [made["changes_since"] for made in (then, now, again)] == [0, 0, 1]


async def test_a_context_says_what_was_erased_since_its_snapshot(client: MakeClient) -> None:
    alice = await client("alice")
    await alice.put("/v1/preferences/tone", json={"value": "formal"}, headers={"If-None-Match": "*"})
    then = (await alice.post("/v1/context", json={"query": "how?"})).json()
    await alice.delete("/v1/preferences/tone", headers={"If-Match": '"1"'})
    again = (await alice.post("/v1/context", json={"query": "how?", "snapshot": then["snapshot"]})).json()
    assert "formal" not in again["prompt"]
    told = [(each["kind"], each["version"], each["loaded"], each["reason"]) for each in again["decisions"]]
    assert told == [("preferences", 1, False, "erased")]


async def test_a_budget_is_kept_by_the_count_that_is_shown(client: MakeClient) -> None:
    alice = await client("alice")
    for place in range(5):
        body = {"value": "word " * 40}
        await alice.put(f"/v1/preferences/key-{place}", json=body, headers={"If-None-Match": "*"})
    made = (await alice.post("/v1/context", json={"query": "how?", "budget_tokens": 150})).json()
    assert made["usage"]["total"] <= 150
    assert {decision["reason"] for decision in made["decisions"]} >= {"over_budget"}


async def test_the_budget_is_counted_by_the_tokenizer_that_is_named(client: MakeClient) -> None:
    alice = await client("alice")
    await alice.put("/v1/preferences/tone", json={"value": "正式的语气，谢谢"}, headers={"If-None-Match": "*"})
    totals, prompt = [], ""
    for name in (None, "embedder", "estimate", "bytes"):
        made = (await alice.post("/v1/context", json={"query": "how?", "tokenizer": name})).json()
        totals.append(made["usage"]["total"])
        prompt = made["prompt"]
        replayed = (await alice.get(f"/v1/memory-log/{made['context_id']}/replay")).json()
        assert replayed["usage"]["total"] == made["usage"]["total"]
    assert totals[0] == totals[1] < totals[3] == len(prompt.encode())
    assert totals[2] == estimated_tokens(prompt)
    wrong = await alice.post("/v1/context", json={"query": "how?", "tokenizer": "abacus"})
    assert wrong.status_code == 422


async def test_what_is_required_is_asked_for(client: MakeClient) -> None:
    alice = await client("alice")
    body = {"query": "how?", "include": ["summary"], "require": ["knowledge"]}
    assert (await alice.post("/v1/context", json=body)).status_code == 422


async def test_a_session_that_is_not_there_is_said_so(client: MakeClient) -> None:
    alice = await client("alice")
    missing = await alice.post("/v1/context", json={"query": "how?", "session_id": "ses_" + "0" * 32})
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
