"""What is asked of the service: users with something to be asked for, and the requests of each operation."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from app.bench.servers import PORT

BASE: Final = f"http://127.0.0.1:{PORT}"
PREFERENCES: Final = 10
CHUNKS: Final = 20
INGESTED_WITHIN_S: Final = 120
MAKERS: Final = 8
BATCH: Final = 200
# States nothing of its user: what does is a change of user memory as well, which is measured by itself.
MESSAGE: Final = "When does the parcel for the office in the second street arrive, and who has to sign for it?"
STATES: Final = "I prefer short answers with a table, and please call me by my first name from now on."
MADE_OF_SESSION: Final = ["summary", "messages", "profile", "preferences"]
_SENTENCE: Final = "Department {} keeps form {} in room {}, where visitors show a badge before they get the key. "


# Signs a token for a subject, by a secret.
Sign = Callable[[str, str], str]


@dataclass(frozen=True)
class User:
    """Somebody who asks."""

    token: str
    session_id: str


@dataclass(frozen=True)
class Operation:
    """One kind of request: who is asked what, and which answer counts."""

    name: str
    request: Callable[[User], str]
    expected: int = 200
    # Each user asks once: there is nothing to ask again.
    once: bool = False
    connections: Sequence[int] = field(default=(1, 16, 64, 256))


def written(method: str, path: str, user: User, body: object = None, headers: Mapping[str, str] | None = None) -> str:
    """Return a request as it goes over the wire."""
    content = "" if body is None else json.dumps(body)
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {user.token}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if content:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content.replace('@NUMBER@', '8' * 8))}"]
    return "\r\n".join(lines) + "\r\n\r\n" + content


def _append(text: str) -> Callable[[User], str]:
    def request(user: User) -> str:
        body = {"messages": [{"role": "user", "content": text}]}
        return written("POST", f"/v1/sessions/{user.session_id}/messages", user, body)

    return request


def _context(query: str, include: Sequence[str]) -> Callable[[User], str]:
    def request(user: User) -> str:
        body = {"session_id": user.session_id, "query": query, "include": include, "budget_tokens": 2_000}
        return written("POST", "/v1/context", user, body)

    return request


def _replace(user: User) -> str:
    body = {"value": "in number @NUMBER@"}
    return written("PUT", "/v1/preferences/bench.written", user, body, {"If-Match": '"@VERSION@"'})


APPEND: Final = Operation("append", _append(MESSAGE), 201)
CONTEXT: Final = Operation("context", _context("What about the parcel?", MADE_OF_SESSION))
PREFERENCE: Final = Operation("preference", lambda user: written("GET", "/v1/preferences/bench.0", user))
REPLACE: Final = Operation("conditional write", _replace)
RECALL: Final = Operation(
    "recall", lambda user: written("POST", "/v1/recall", user, {"query": "who signs for the parcel @NUMBER@"})
)
SEARCH: Final = Operation(
    "knowledge search",
    lambda user: written("POST", "/v1/knowledge/search", user, {"query": "which room has form @NUMBER@"}),
    connections=(1, 16, 64),
)
OPERATIONS: Final = (
    APPEND,
    CONTEXT,
    Operation(
        "context, a new query",
        _context("Who signs for parcel @NUMBER@?", [*MADE_OF_SESSION, "recall", "knowledge"]),
        connections=(1, 16, 64),
    ),
    PREFERENCE,
    Operation("preferences, first page", lambda user: written("GET", "/v1/preferences", user)),
    REPLACE,
    Operation("append that states a preference", _append(STATES), 201, connections=(16,)),
    RECALL,
    SEARCH,
    Operation("forget", lambda user: written("DELETE", "/v1/users/me", user), once=True, connections=(1, 16)),
)


class Makers:
    """Makes users, a few at a time."""

    def __init__(self, secret: str, sign: Sign) -> None:
        """Take what tokens are signed by."""
        self._secret = secret
        self._sign = sign
        self.made = 0

    def users(self, count: int, *, messages: int = 5, chunks: int = CHUNKS) -> list[User]:
        """Return new users, each with a session, preferences, and a document where chunks are asked for."""
        numbers = range(self.made, self.made + count)
        self.made += count
        return asyncio.run(self._all(numbers, messages, chunks))

    async def _all(self, numbers: Sequence[int], messages: int, chunks: int) -> list[User]:
        room = asyncio.Semaphore(MAKERS)
        async with httpx.AsyncClient(base_url=BASE, trust_env=False, timeout=60) as client:

            async def make(number: int) -> User:
                async with room:
                    return await self._one(client, number, messages, chunks)

            return list(await asyncio.gather(*map(make, numbers)))

    async def _one(self, client: httpx.AsyncClient, number: int, messages: int, chunks: int) -> User:
        token = self._sign(self._secret, f"user-{number}")
        opened = await _done(client, "POST", "/v1/sessions", token, {})
        user = User(token, opened["id"])
        names = [*(f"bench.{each}" for each in range(PREFERENCES)), "bench.written"]
        items = [{"key": name, "value": f"of {name}", "version": None} for name in names]
        await _done(client, "PUT", "/v1/preferences", token, {"items": items})
        said = [{"role": "user", "content": f"{MESSAGE} It is item {each}."} for each in range(messages)]
        for start in range(0, messages, BATCH):
            path = f"/v1/sessions/{user.session_id}/messages"
            await _done(client, "POST", path, token, {"messages": said[start : start + BATCH]})
        if chunks:
            text = "\n\n".join(_SENTENCE.format(number, each, each + 1) * 12 for each in range(chunks))
            path = "/v1/knowledge/documents"
            given = await _done(client, "POST", path, token, {"title": "Rooms", "doc_type": "policy", "text": text})
            await _ingested(client, token, f"{path}/{given.get('id') or given.get('document_id')}")
        return user


async def _done(client: httpx.AsyncClient, method: str, path: str, token: str, body: object) -> dict[str, Any]:
    answer = await client.request(method, path, json=body, headers={"Authorization": f"Bearer {token}"})
    answer.raise_for_status()
    told: dict[str, Any] = answer.json()
    return told


async def _ingested(client: httpx.AsyncClient, token: str, path: str) -> None:
    until = time.monotonic() + INGESTED_WITHIN_S
    while time.monotonic() < until:
        answer = await client.get(path, headers={"Authorization": f"Bearer {token}"})
        if answer.json().get("status") in {"ready", "failed"}:
            return
        await asyncio.sleep(0.2)
