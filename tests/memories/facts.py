"""What the tests of facts say to the service, in few words."""

from typing import Any

import httpx

Json = dict[str, Any]  # Any: JSON


async def add(client: httpx.AsyncClient, text: str, **more: object) -> Json:
    """Add a fact, which must be taken."""
    answer = await client.post("/v1/memories", json={"text": text, **more})
    assert answer.status_code == 201, answer.text
    memory: Json = answer.json()
    return memory


async def put(client: httpx.AsyncClient, memory: Json, text: str, **more: object) -> Json:
    """Write the version after the one that `memory` shows, which must be taken."""
    answer = await client.put(
        f"/v1/memories/{memory['id']}",
        json={"text": text, **more},
        headers={"If-Match": f'"{memory["version"]}"'},
    )
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


async def delete(client: httpx.AsyncClient, memory: Json) -> None:
    """Delete a fact at the version that `memory` shows."""
    answer = await client.delete(f"/v1/memories/{memory['id']}", headers={"If-Match": f'"{memory["version"]}"'})
    assert answer.status_code == 204, answer.text


async def recalled(client: httpx.AsyncClient, query: str, **wishes: object) -> list[Json]:
    """Return the hits of a recall."""
    answer = await client.post("/v1/recall", json={"query": query, **wishes})
    assert answer.status_code == 200, answer.text
    hits: list[Json] = answer.json()["hits"]
    return hits
