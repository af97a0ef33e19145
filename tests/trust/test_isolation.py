"""User A with every id of user B: 404 everywhere, the same as an id that never was. Made from the OpenAPI document."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from app.core import ids
from app.core.scope import Scope
from app.infra.audit.tables import audit_log
from app.wiring import Wiring

MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]
Json = dict[str, Any]  # Any: JSON of the API

SECRET = "the walrus sings"
MIN_OPERATIONS = 15
# The name of an id in a path, and the prefix of such an id. What isn't here fails: a new route can't be forgotten.
IDS = {
    "session_id": "ses",
    "message_id": "msg",
    "memory_id": "mem",
    "document_id": "doc",
    "context_id": "ctx",
    "erasure_id": "ers",
    "candidate_id": "cnd",
    "import_id": "imp",
    "profile_candidate_id": "cnd",
    "memory_candidate_id": "cnd",
}
# Names that every user has for themselves: under one of B's names A finds nothing, and may make something of A's own.
NAMES = {"key": "walrus.key", "field": "name"}
BODIES: Mapping[str, Json] = {
    "PATCH /v1/sessions/{session_id}": {"title": "taken over"},
    "POST /v1/sessions/{session_id}/messages": {"messages": [{"role": "user", "content": "taken over"}]},
    "POST /v1/context/{context_id}/feedback": {"useful": True},
    "PUT /v1/knowledge/documents/{document_id}": {"text": "taken over", "doc_type": "note"},
    "PUT /v1/memories/{memory_id}": {"text": "taken over", "source": "explicit"},
    "PUT /v1/preferences/{key}": {"value": "taken over"},
    "POST /v1/preferences/{key}/rollback": {"to_version": 1},
}
# What a stream is asked for, so that it ends.
QUERIES = {"GET /v1/knowledge/documents/{document_id}/events": {"wait_s": "0"}}
# Says nothing of anybody, or another thing after each look: the trail tells that one looked (tests/audit).
NOT_COMPARED = {"/healthz", "/readyz", "/v1/audit", "/v1/users/me/export"}
OCTETS = {"Content-Type": "application/octet-stream"}
MERGE_PATCH = {"Content-Type": "application/merge-patch+json", "If-Match": '"0"'}


@dataclass(frozen=True)
class Operation:
    """One of the OpenAPI document, with the names in its path."""

    method: str
    path: str
    details: Json = field(hash=False)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def parameters(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    @property
    def headers(self) -> list[str]:
        return [each["name"].lower() for each in self.details.get("parameters", []) if each["in"] == "header"]

    async def call(self, client: httpx.AsyncClient, values: Mapping[str, str], **headers: str) -> httpx.Response:
        """Send a request that nothing but its ids is wrong with."""
        if "if-match" in self.headers:
            headers["If-Match"] = '"1"'
        if "requestBody" in self.details:
            assert self.name in BODIES, f"{self.name} is new: say here what is sent to it"
        return await client.request(
            self.method,
            self.path.format(**values),
            params=QUERIES.get(self.name),
            json=BODIES.get(self.name),
            headers=headers,
        )


@dataclass
class Person:
    """A user with something of every kind."""

    client: httpx.AsyncClient
    ids: dict[str, str]
    usr: UUID
    receipt: str = ""


def operations(app: FastAPI, *, of_operators: bool = False) -> Iterator[Operation]:
    for path, methods in app.openapi()["paths"].items():
        for method, details in methods.items():
            if path.startswith("/v1/admin/") == of_operators:
                yield Operation(method.upper(), path, details)


def addressed(app: FastAPI) -> list[Operation]:
    """Return the operations with something in their path."""
    found = [each for each in operations(app) if each.parameters]
    unknown = {name for each in found for name in each.parameters} - IDS.keys() - NAMES.keys()
    assert not unknown, f"new in a path: {unknown}. Say in this file what they are"
    assert len(found) >= MIN_OPERATIONS
    return found


async def furnish(client: httpx.AsyncClient, word: str) -> Person:
    """Make something of every kind, two of each that is listed, all with the word in it."""

    async def send(method: str, path: str, body: Json, **headers: str) -> Json:
        answer = await client.request(method, path, json=body, headers={"If-None-Match": "*", **headers})
        assert answer.is_success, answer.text
        made: Json = answer.json()
        return made

    async def make() -> dict[str, str]:
        session = await send("POST", "/v1/sessions", {"title": word})
        message = {"role": "user", "content": word}
        appended = await send("POST", f"/v1/sessions/{session['id']}/messages", {"messages": [message, message]})
        document = await send(
            "POST", "/v1/knowledge/documents", {"text": f"{word} {session['id']}", "doc_type": word, "title": word}
        )
        memory = await send("POST", "/v1/memories", {"text": word, "metadata": {word: word}})
        context = await send("POST", "/v1/context", {"query": word, "session_id": session["id"]})
        lines = f'{{"text": "{word}", "metadata": {{"of": "{session["id"]}"}}}}\n'
        imported = await client.post("/v1/users/me/import", content=lines, headers=OCTETS)
        assert imported.is_success, imported.text
        return {
            "import_id": imported.json()["id"],
            "session_id": session["id"],
            "message_id": appended["messages"][0]["id"],
            "memory_id": memory["id"],
            "document_id": document["id"],
            "context_id": context["context_id"],
            "erasure_id": ids.show("ers", ids.uuid7()),
        }

    await make()
    found = await make()
    waiting = []
    for key in (NAMES["key"], "another.key"):
        await send("PUT", f"/v1/preferences/{key}", {"value": word})
        proposal = {"key": key, "value": [word], "confidence": 0.5, "reason": word}
        waiting.append((await send("POST", "/v1/preference-proposals", proposal))["candidate"]["id"])
    found["candidate_id"] = waiting[0]
    for key in ("company", "team"):
        proposal = {"key": key, "value": word, "confidence": 0.5}
        found["profile_candidate_id"] = (await send("POST", "/v1/profile-proposals", proposal))["candidate"]["id"]
    # About their author, says the writer's model, and no rule says what.
    hints = {"messages": [{"role": "user", "content": f"{sign}男求交友 {word}"} for sign in ("天蝎", "狮子")]}
    assert (await client.post(f"/v1/sessions/{found['session_id']}/messages", json=hints)).is_success
    found["memory_candidate_id"] = (await client.get("/v1/memory-candidates")).json()["items"][-1]["id"]
    patched = await client.patch("/v1/profile", json={"name": word}, headers=MERGE_PATCH)
    assert patched.is_success, patched.text
    usr = ids.parse("usr", patched.json()["id"])
    assert {each.partition("_")[0] for each in found.values()} == set(IDS.values())
    return Person(client, found, usr)


async def erased(client: httpx.AsyncClient) -> Person:
    """Return someone who was forgotten: an erasure, and the receipt that opens it."""
    await client.get("/v1/profile")
    answer = (await client.delete("/v1/users/me")).json()
    return Person(client, {"erasure_id": answer["id"]}, ids.new_user_reference(), answer["receipt"])


async def everything_of(app: FastAPI, person: Person) -> Json:
    """Return what a person reads of all that is theirs: every GET there is."""
    values = person.ids | NAMES
    answers = {
        each.name: await each.call(person.client, values)
        for each in operations(app)
        if each.method == "GET" and "erasure_id" not in each.parameters and each.path not in NOT_COMPARED
    }
    assert {answer.status_code for answer in answers.values()} == {200}, answers
    return {name: answer.content for name, answer in answers.items()}


def told(answer: httpx.Response) -> tuple[int, Json]:
    """Return what an answer tells, but for the id of its request."""
    body = answer.json()
    return answer.status_code, {name: value for name, value in body.items() if name != "request_id"}


@pytest.fixture
async def alice(client: MakeClient) -> Person:
    return await furnish(await client("alice"), "what alice says")


@pytest.fixture(params=["another user", "another tenant's user of the same name"])
async def bob(client: MakeClient, tenant: str, request: pytest.FixtureRequest) -> Person:
    sub, where = ("bob", tenant) if request.param == "another user" else ("alice", f"{tenant}-2")
    return await furnish(await client(sub, where), SECRET)


def foreign(operation: Operation, mine: Person, theirs: Person) -> Iterator[dict[str, str]]:
    """Return every mixture of ids in which at least one is theirs."""
    names = [name for name in operation.parameters if name in IDS]
    for owners in product((mine, theirs), repeat=len(names)):
        if theirs in owners or not names:
            yield {name: owner.ids[name] for name, owner in zip(names, owners, strict=True)} | NAMES


async def test_with_every_id_of_someone_else_a_user_gets_404(
    app: FastAPI, wiring: Wiring, tenant: str, alice: Person, bob: Person
) -> None:
    before = await everything_of(app, bob)
    expected: dict[str, UUID] = {}
    for operation in addressed(app):
        if "erasure_id" in operation.parameters or not set(operation.parameters) & IDS.keys():
            continue
        never = {name: ids.show(IDS[name], ids.uuid7()) for name in operation.parameters if name in IDS} | NAMES
        for number, values in enumerate(foreign(operation, alice, bob)):
            request_id = f"{operation.method}.{len(expected)}.{number}"
            answer = await operation.call(alice.client, values, **{"X-Request-ID": request_id})
            assert answer.status_code == 404, (operation.name, values, answer.text)
            assert told(answer) == told(await operation.call(alice.client, never)), operation.name
            assert SECRET not in answer.text
            last = operation.parameters[-1]
            expected[request_id] = ids.parse(IDS[last], values[last])
    assert len(expected) >= MIN_OPERATIONS
    assert await everything_of(app, bob) == before
    await app.state.access_log.flushed()
    async with wiring.db.read(Scope(tenant, alice.usr, None)) as tx:
        rows = await tx.rows(select(audit_log).filter_by(outcome="not_found"))
    refusals = {row.request_id: row.item for row in rows}
    assert {request_id: refusals.get(request_id) for request_id in expected} == expected


async def test_under_someone_elses_name_there_is_nothing(app: FastAPI, client: MakeClient, bob: Person) -> None:
    """A preference's key is a name and no id: B's key is as free for A as one that nobody has."""
    carol = await client("carol")
    before = await everything_of(app, bob)
    for operation in addressed(app):
        if not set(operation.parameters) <= NAMES.keys():
            continue
        answer = await operation.call(carol, NAMES)
        assert answer.status_code in {404, 412}, (operation.name, answer.text)
        assert told(answer) == told(await operation.call(carol, {"key": "never.was", "field": "role"})), operation.name
        assert SECRET not in answer.text
    assert await everything_of(app, bob) == before


async def test_an_erasure_opens_with_its_own_receipt_alone(
    app: FastAPI, app_client: httpx.AsyncClient, client: MakeClient
) -> None:
    mine, theirs = await erased(await client("dora")), await erased(await client("emil"))
    receipt = {"Cairn-Receipt": mine.receipt}
    found = [each for each in addressed(app) if "erasure_id" in each.parameters]
    assert len(found) > 1
    for operation in found:
        assert (await operation.call(app_client, mine.ids, **receipt)).status_code == 200
        answer = await operation.call(app_client, theirs.ids, **receipt)
        never = await operation.call(app_client, {"erasure_id": ids.show("ers", ids.uuid7())}, **receipt)
        assert (answer.status_code, told(answer)) == (404, told(never))


async def test_someone_elses_id_in_a_body_or_a_filter_is_one_that_never_was(
    app: FastAPI, alice: Person, bob: Person
) -> None:
    before = await everything_of(app, bob)
    never = {name: ids.show(prefix, ids.uuid7()) for name, prefix in IDS.items()}
    own = alice.ids["session_id"]

    def requests(of: Mapping[str, str]) -> Iterator[tuple[int, str, str, Json | None]]:
        yield 404, "POST", "/v1/context", {"query": SECRET, "session_id": of["session_id"]}
        yield 404, "POST", "/v1/recall", {"query": SECRET, "session_id": of["session_id"]}
        # Filters that nothing passes.
        for name in ("session_id", "message_id", "context_id"):
            yield 200, "GET", f"/v1/memory-log?{name}={of[name]}", None
        yield 200, "POST", "/v1/knowledge/search", {"query": SECRET, "document_ids": [of["document_id"]]}
        said = {"role": "assistant", "content": "x", "context_id": of["context_id"]}
        yield 422, "POST", f"/v1/sessions/{own}/messages", {"messages": [said]}
        value: Json = {"value": 1, "evidence": evidence(of)}
        yield 422, "PUT", "/v1/preferences/of.evidence", value
        yield 422, "POST", "/v1/preference-proposals", value | {"key": "of.evidence", "confidence": 0.5}

    for theirs, missing in zip(requests(bob.ids), requests(never), strict=True):
        answers = [
            await alice.client.request(method, path, json=body, headers={"If-None-Match": "*"})
            for _, method, path, body in (theirs, missing)
        ]
        assert {answer.status_code for answer in answers} == {theirs[0]}, (theirs, answers[0].text)
        assert SECRET not in answers[0].text
        if theirs[0] >= 400:
            assert told(answers[0]) == told(answers[1])
        assert [answers[0].json().get(name, []) for name in ("hits", "items")] == [[], []]
    assert await everything_of(app, bob) == before


def evidence(of: Mapping[str, str]) -> Json:
    return {"kind": "message", "id": of["message_id"]}


async def test_someone_elses_cursor_snapshot_and_idempotency_key_open_nothing(alice: Person, bob: Person) -> None:
    lists = [
        "/v1/sessions",
        "/v1/memories",
        "/v1/preferences",
        "/v1/preference-candidates",
        "/v1/profile-candidates",
        "/v1/memory-candidates",
        "/v1/knowledge/documents",
        "/v1/memory-log",
    ]
    for path in lists:
        page = (await bob.client.get(path, params={"limit": 1})).json()
        assert page["next_cursor"], path
        answer = await alice.client.get(path, params={"cursor": page["next_cursor"]})
        assert SECRET not in answer.text, path
    snapshot = (await bob.client.get("/v1/preferences")).json()["snapshot"]
    assert SECRET not in (await alice.client.get("/v1/preferences", params={"snapshot": snapshot})).text
    key = {"Idempotency-Key": "same"}
    made = [await each.client.post("/v1/sessions", json={"title": SECRET}, headers=key) for each in (bob, alice)]
    assert [answer.headers.get("Idempotent-Replayed") for answer in made] == [None, None]
    assert made[0].json()["id"] != made[1].json()["id"]


async def test_nothing_but_the_token_says_who_asks(app: FastAPI, alice: Person, bob: Person) -> None:
    who = ids.show("usr", bob.usr)
    headers = dict.fromkeys(("X-User-Id", "X-Forwarded-User", "X-Tenant-Id", "X-Agent-Id", "User-Id"), who)
    values = alice.ids | NAMES
    for operation in operations(app):
        if "erasure_id" in operation.parameters or operation.path in {"/healthz", "/readyz"}:
            continue
        for name in ("user_id", "usr", "sub", "tenant", "user"):
            answer = await alice.client.request(
                operation.method,
                operation.path.format(**values),
                params={**QUERIES.get(operation.name, {}), name: who},
                json=BODIES.get(operation.name),
                headers={"If-Match": '"1"'} if "if-match" in operation.headers else None,
            )
            if operation.path != "/.well-known/cairn-keys.json":
                # Whoever isn't let in isn't told what is wrong with the request.
                refusals = {403} if operation.path.startswith("/v1/admin/") else {415, 422}
                assert answer.status_code in refusals, (operation.name, name, answer.text)
            assert SECRET not in answer.text
        if operation.method == "GET" and operation.path not in NOT_COMPARED:
            plain = await operation.call(alice.client, values)
            claimed = await operation.call(alice.client, values, **headers)
            assert plain.content == claimed.content, operation.name


async def test_a_users_token_opens_no_route_of_operators(app: FastAPI, alice: Person) -> None:
    found = list(operations(app, of_operators=True))
    assert found
    for operation in found:
        path = re.sub(r"{\w+}", "walrus", operation.path)
        for method, where in ((operation.method, path), (operation.method, f"{path}?user=somebody")):
            answer = await alice.client.request(method, where, json={})
            assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope"), operation.name


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/sessions", {"title": "x"}),
        ("POST", "/v1/context", {"query": "x"}),
        ("POST", "/v1/recall", {"query": "x"}),
        ("POST", "/v1/knowledge/search", {"query": "x"}),
        ("POST", "/v1/knowledge/documents", {"text": "x", "doc_type": "note"}),
        ("PUT", "/v1/preferences/some.key", {"value": 1}),
        ("PUT", "/v1/preferences", {"items": [{"key": "some.key", "value": 1, "version": None}]}),
        ("POST", "/v1/preference-proposals", {"key": "some.key", "value": 1, "confidence": 0.5}),
        ("POST", "/v1/profile-proposals", {"key": "company", "value": "x", "confidence": 0.5}),
        ("PATCH", "/v1/profile", {"name": "x"}),
    ],
)
async def test_a_body_does_not_name_the_user(
    client: MakeClient, bob: Person, method: str, path: str, body: Json
) -> None:
    carol = await client("carol")
    headers = MERGE_PATCH if method == "PATCH" else {"If-None-Match": "*"}
    for name in ("user_id", "usr", "tenant", "agent_id"):
        claimed = body | {name: ids.show("usr", bob.usr)}
        answer = await carol.request(method, path, json=claimed, headers=headers)
        assert answer.status_code == 422, (name, answer.text)
        assert SECRET not in answer.text
