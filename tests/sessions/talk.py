"""What the tests of sessions say to the service, in few words."""

from collections.abc import Sequence
from typing import Any, TypeVar

import httpx

from app.wiring import Wiring

T = TypeVar("T")

Json = dict[str, Any]  # Any: JSON


async def open_session(client: httpx.AsyncClient, **wishes: object) -> Json:
    """Make a session."""
    answer = await client.post("/v1/sessions", json=wishes)
    assert answer.status_code in {200, 201}, answer.text
    session: Json = answer.json()
    return session


def said(content: str | None, role: str = "user", **more: object) -> Json:
    """Make a message."""
    return {"role": role, "content": content, **more}


async def append(client: httpx.AsyncClient, session: Json, *messages: Json) -> Sequence[Json]:
    """Append messages, which must be taken."""
    answer = await client.post(f"/v1/sessions/{session['id']}/messages", json={"messages": messages})
    assert answer.status_code == 201, answer.text
    appended: Sequence[Json] = answer.json()["messages"]
    return appended


async def chatter(client: httpx.AsyncClient, session: Json, count: int) -> None:
    """Append so many messages of no consequence."""
    for start in range(0, count, 100):
        words = [
            said(f"Message {number} tells of the weather on that day.")
            for number in range(start, min(start + 100, count))
        ]
        await append(client, session, *words)


async def read_session(client: httpx.AsyncClient, session: Json) -> Json:
    """Read a session."""
    answer = await client.get(f"/v1/sessions/{session['id']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def read_messages(client: httpx.AsyncClient, session: Json, limit: int = 50) -> list[Json]:
    """Read the whole record, oldest first, page by page."""
    messages: list[Json] = []
    cursor: str | None = None
    while True:
        parameters = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        answer = await client.get(f"/v1/sessions/{session['id']}/messages", params=parameters)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        messages += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return messages[::-1]


async def recall(client: httpx.AsyncClient, query: str, **wishes: object) -> Json:
    """Look for something in the record."""
    answer = await client.post("/v1/recall", json={"query": query, **wishes})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def the(wiring: Wiring, kind: type[T]) -> T:
    """Return the one object of a class that wiring built for routes."""
    found = wiring.provided[kind]
    assert isinstance(found, kind)
    return found
