"""What there is of a user: each kind and each quota, as its own routes say, and of nobody else."""

from typing import Any

import httpx

from tests.conftest import MakeClient

NEW = {"If-None-Match": "*"}
ANY = {"If-Match": "*"}


async def account(user: httpx.AsyncClient) -> tuple[dict[str, int], dict[str, Any]]:
    answer = (await user.get("/v1/users/me")).raise_for_status().json()
    return {each["kind"]: each["count"] for each in answer["kinds"]}, answer["quotas"]


async def test_each_kind_is_counted_and_each_quota_shown_with_its_limit(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    nothing, empty = await account(bob)
    waiting = {"candidate", "profile_candidate", "memory_candidate"}
    assert set(nothing) == {"profile", "preference", "memory", "session", "message", "document", *waiting}
    limited = {"candidates", "profile_candidates", "memory_candidates"}
    assert set(empty) == {"preferences", "memories", "documents", "bytes", "chunks", *limited}
    assert {*nothing.values()} | {share["used"] for share in empty.values()} == {0}
    text = "The rent is due on the third."
    made = await alice.post("/v1/knowledge/documents", json={"text": text, "doc_type": "note"})
    await alice.post("/v1/memories", json={"text": "Works in the harbour."})
    for key in ("language", "tone"):
        await alice.put(f"/v1/preferences/{key}", json={"value": "plain"}, headers=NEW)
    await alice.post("/v1/preference-proposals", json={"key": "tone", "value": "warm", "confidence": 0.7})
    await alice.patch(
        "/v1/profile",
        json={"name": "Alice"},
        headers={"If-Match": '"0"'} | {"Content-Type": "application/merge-patch+json"},
    )
    await alice.post("/v1/profile-proposals", json={"key": "company", "value": "Borg", "confidence": 0.7})
    session = (await alice.post("/v1/sessions", json={})).raise_for_status()
    await alice.post(
        f"{session.headers['location']}/messages", json={"messages": [{"role": "user", "content": "Hello."}]}
    )
    kinds, quotas = await account(alice)
    assert kinds == {
        "profile": 1,
        "preference": 2,
        "candidate": 1,
        "profile_candidate": 1,
        "memory_candidate": 0,
        "memory": 1,
        "session": 1,
        "message": 1,
        "document": 1,
    }
    assert {name: share["used"] for name, share in quotas.items()} == {
        "preferences": 2,
        "candidates": 1,
        "profile_candidates": 1,
        "memory_candidates": 0,
        "memories": 1,
        "documents": 1,
        "bytes": len(text),
        "chunks": 0,
    }
    assert all(share["limit"] > share["used"] for share in quotas.values())
    of_documents = (await alice.get("/v1/knowledge/usage")).json()
    assert of_documents == {name: quotas[name] for name in ("documents", "bytes", "chunks")}
    await alice.delete(made.headers["location"], headers=ANY)
    after, given_back = await account(alice)
    assert (after["document"], given_back["documents"]["used"], given_back["bytes"]["used"]) == (0, 0, 0)
    assert await account(bob) == (nothing, empty)


async def test_of_what_a_token_may_not_read_nothing_is_told(client: MakeClient) -> None:
    narrow = await client("alice", scope="memories")
    kinds, quotas = await account(narrow)
    assert kinds == {"memory": 0, "memory_candidate": 0}
    assert quotas == {"memories": {"used": 0, "limit": 10_000}, "memory_candidates": {"used": 0, "limit": 200}}
    assert (await (await client("alice", scope="knowledge")).get("/v1/users/me")).status_code == 403
