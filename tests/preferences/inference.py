"""What tests of inferences do: messages to infer from, proposals, and the user's decisions."""

from typing import Any

import httpx

ABSENT = {"If-None-Match": "*"}
Json = dict[str, Any]  # Any: JSON of the API


def at(version: int) -> dict[str, str]:
    return {"If-Match": f'"{version}"'}


async def messages_of(caller: httpx.AsyncClient, count: int) -> list[Json]:
    """Return the evidence of messages that the caller has just sent."""
    session = (await caller.post("/v1/sessions", json={})).json()["id"]
    said = [{"role": "user", "content": f"{number}: I like tea. 我喜欢喝茶。"} for number in range(count)]
    appended = await caller.post(f"/v1/sessions/{session}/messages", json={"messages": said})
    return [{"kind": "message", "id": each["id"]} for each in appended.json()["messages"]]


async def propose(caller: httpx.AsyncClient, value: object, confidence: float = 0.5, **more: object) -> httpx.Response:
    body = {"key": "drink", "value": value, "confidence": confidence, **more}
    return await caller.post("/v1/preference-proposals", json=body)


async def proposed(caller: httpx.AsyncClient, value: object, confidence: float = 0.5, **more: object) -> Json:
    """Return what became of a proposal that isn't refused."""
    answer = await propose(caller, value, confidence, **more)
    assert answer.status_code == 201, answer.text
    outcome: Json = answer.json()
    return outcome


async def waiting(caller: httpx.AsyncClient, value: object, confidence: float = 0.5, **more: object) -> Json:
    """Return the candidate that a proposal has become."""
    outcome = await proposed(caller, value, confidence, **more)
    assert outcome["state"] == "candidate"
    candidate: Json = outcome["candidate"]
    return candidate


async def state(caller: httpx.AsyncClient, value: object, version: int = 0, key: str = "drink") -> Json:
    """Return a preference that the caller has stated, after a version."""
    answer = await caller.put(
        f"/v1/preferences/{key}", json={"value": value}, headers=at(version) if version else ABSENT
    )
    assert answer.is_success, answer.text
    preference: Json = answer.json()
    return preference


async def decide(caller: httpx.AsyncClient, candidate: Json, verdict: str) -> httpx.Response:
    path = f"/v1/preference-candidates/{candidate['id']}/{verdict}"
    return await caller.post(path, headers=at(candidate["version"]))


async def in_force(caller: httpx.AsyncClient) -> object:
    answer = await caller.get("/v1/preferences/drink")
    return answer.json().get("value") if answer.is_success else None


async def candidates_of(caller: httpx.AsyncClient) -> list[Json]:
    items: list[Json] = (await caller.get("/v1/preference-candidates")).json()["items"]
    return items
