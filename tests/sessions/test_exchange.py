"""One request a turn: an append with `context` stores the messages, whatever befalls the context."""

import uuid

import httpx
import pytest

from app.core.assembly import Ask, Assembled
from app.core.errors import AppError
from app.core.ids import parse
from app.core.scope import Scope
from app.sessions.exchange import Exchanges
from app.sessions.model import Body, Draft, Role
from app.sessions.service import Sessions
from app.wiring import Wiring
from tests.conftest import USER_SCOPES, MakeClient, MakeScope
from tests.sessions.talk import Json, open_session, read_messages, said, the

QUESTION = "Which colour for the report?"


class Failing:
    """An assembler that fails in one way."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def assemble(self, scope: Scope, ask: Ask) -> Assembled:
        del scope, ask
        raise self._error


async def _exchange(client: httpx.AsyncClient, session: Json, *, key: str = "", **context: object) -> httpx.Response:
    return await client.post(
        f"/v1/sessions/{session['id']}/messages",
        json={"messages": [said("Never use green in a report.")], "context": {"query": QUESTION, **context}},
        headers={"Idempotency-Key": key or uuid.uuid4().hex},
    )


async def test_an_append_answers_the_context_that_has_its_messages(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    answer = await _exchange(alice, session)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert told["messages"][0]["seq"] == 1
    assert told["context_problem"] is None
    assert "Never use green in a report." in told["context"]["prompt"]
    alone = await alice.post("/v1/context", json={"query": QUESTION, "session_id": session["id"]})
    assert told["context"].keys() == alone.json().keys()
    assert told["context"]["prompt"] == alone.json()["prompt"]
    logged = await alice.get("/v1/memory-log", params={"session_id": session["id"]})
    assert told["context"]["context_id"] in [line["context_id"] for line in logged.json()["items"]]


async def test_the_wishes_of_a_context_are_kept(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    told = (await _exchange(alice, session, budget_tokens=64, include=["messages"])).json()
    assert {decision["kind"] for decision in told["context"]["decisions"]} <= {"messages"}
    assert told["context"]["usage"]["total"] <= 64


@pytest.mark.parametrize("context", [{"session_id": "ses_" + "0" * 32}, {"budget_tokens": 1}, {"query": ""}])
async def test_a_context_that_is_not_valid_stores_nothing(client: MakeClient, context: Json) -> None:
    alice = await client()
    session = await open_session(alice)
    assert (await _exchange(alice, session, **context)).status_code == 422
    assert await read_messages(alice, session) == []


async def test_without_the_scope_for_contexts_nothing_is_stored(client: MakeClient) -> None:
    alice = await client(scope=USER_SCOPES.replace(" context", ""))
    session = await open_session(alice)
    refused = await _exchange(alice, session)
    assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")
    assert refused.json()["scope"] == "context:read"
    assert 'scope="context:read"' in refused.headers["WWW-Authenticate"]
    assert await read_messages(alice, session) == []


async def test_a_session_of_somebody_else_is_not_found(client: MakeClient) -> None:
    alice, bob = await client(), await client("bob")
    session, key = await open_session(alice), uuid.uuid4().hex
    first, second = await _exchange(bob, session, key=key), await _exchange(bob, session, key=key)
    assert (first.status_code, second.status_code) == (404, 404)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert await read_messages(alice, session) == []


async def test_a_retry_gets_the_first_messages_and_a_context_of_its_own(client: MakeClient) -> None:
    alice, key = await client(), uuid.uuid4().hex
    session = await open_session(alice)
    first = await _exchange(alice, session, key=key)
    written = await alice.put("/v1/preferences/colour", json={"value": "a deep violet"}, headers={"If-None-Match": "*"})
    assert written.status_code in {200, 201}, written.text
    again = await _exchange(alice, session, key=key)
    assert again.status_code == 201
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["messages"] == first.json()["messages"]
    assert "deep violet" not in first.json()["context"]["prompt"]
    assert "deep violet" in again.json()["context"]["prompt"]
    assert len(await read_messages(alice, session)) == 1
    other = await _exchange(alice, session, key=key, budget_tokens=200)
    assert other.json()["code"] == "idempotency_mismatch"


async def test_a_context_that_cannot_be_made_leaves_the_append_done(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    answer = await _exchange(alice, session, snapshot="snp_1_0000000000000000")
    assert answer.status_code == 201
    assert answer.json()["context"] is None
    assert answer.json()["context_problem"]["code"] == "invalid"
    assert answer.json()["context_problem"]["request_id"] == answer.headers["X-Request-ID"]
    assert [message["id"] for message in answer.json()["messages"]] == [
        message["id"] for message in await read_messages(alice, session)
    ]


@pytest.mark.parametrize(
    ("error", "code"),
    [(AppError("store_unavailable"), "store_unavailable"), (AppError("erasing"), "erasing"), (KeyError(), "internal")],
)
async def test_whatever_fails_after_the_commit_is_told_beside_the_messages(
    wiring: Wiring,
    scope: MakeScope,
    client: MakeClient,
    error: Exception,
    code: str,
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice)
    exchanges = Exchanges(the(wiring, Sessions), Failing(error))
    session_id = parse("ses", session["id"])
    ask = Ask(QUESTION, session_id, 500, frozenset({"messages"}), frozenset(), None)
    drafts = [Draft(Role.USER, Body(content="I am here."))]
    exchanged = await exchanges.append(caller, session_id, drafts, ask)
    assert isinstance(exchanged.context, AppError)
    assert exchanged.context.code == code
    assert [message["content"] for message in await read_messages(alice, session)] == ["I am here."]
