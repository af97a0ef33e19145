"""A batch of preferences is written as a whole or not at all."""

import asyncio
from collections import Counter

from app.preferences.model import MAX_BATCH_ITEMS, MAX_PREFERENCES
from tests.conftest import MakeClient


async def test_a_batch_creates_and_changes_in_one_step(client: MakeClient) -> None:
    alice = await client()
    first = [{"key": "language", "value": "en", "version": None}]
    assert (await alice.put("/v1/preferences", json={"items": first})).status_code == 200
    before = (await alice.get("/v1/preferences")).json()["snapshot"]
    second = [{"key": "theme", "value": "dark", "version": None}, {"key": "language", "value": "zh", "version": 1}]
    answer = await alice.put("/v1/preferences", json={"items": second})
    shown = [(item["key"], item["value"], item["version"]) for item in answer.json()["items"]]
    assert shown == [("theme", "dark", 1), ("language", "zh", 2)]
    then = (await alice.get("/v1/preferences", params={"snapshot": before})).json()["items"]
    assert [(item["key"], item["value"]) for item in then] == [("language", "en")]


async def test_one_stale_item_refuses_all_and_every_stale_one_is_named(client: MakeClient) -> None:
    alice = await client()
    kept = [{"key": key, "value": 1, "version": None} for key in ("a", "b")]
    await alice.put("/v1/preferences", json={"items": kept})
    before = (await alice.get("/v1/preferences")).json()
    items = [
        {"key": "a", "value": 2, "version": 1},
        {"key": "b", "value": 2, "version": None},
        {"key": "c", "value": 2, "version": 4},
    ]
    answer = await alice.put("/v1/preferences", json={"items": items})
    assert (answer.status_code, answer.json()["code"]) == (412, "stale_version")
    assert answer.json()["errors"] == [
        {"field": "items[1].version", "message": "the current version is 1"},
        {"field": "items[2].version", "message": "the current version is 0"},
    ]
    assert (await alice.get("/v1/preferences")).json() == before


async def test_of_ten_batches_over_the_same_keys_one_wins(client: MakeClient) -> None:
    alice = await client()
    answers = await asyncio.gather(
        *(
            alice.put(
                "/v1/preferences",
                json={"items": [{"key": key, "value": number, "version": None} for key in ("ba"[number % 2 :], "c")]},
            )
            for number in range(10)
        )
    )
    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 9}


async def test_a_batch_that_names_a_key_twice_or_is_empty_or_too_long_is_refused(client: MakeClient) -> None:
    alice = await client()
    item = {"key": "a", "value": 1, "version": None}
    many = [{"key": f"k{number}", "value": 1, "version": None} for number in range(MAX_BATCH_ITEMS + 1)]
    for items in ([item, item], [], many, [{"key": "a", "value": 1}]):
        answer = await alice.put("/v1/preferences", json={"items": items})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert (await alice.get("/v1/preferences")).json()["items"] == []


async def test_a_repeated_batch_has_one_effect(client: MakeClient) -> None:
    alice = await client()
    body = {"items": [{"key": "a", "value": 1, "version": None}]}
    first = await alice.put("/v1/preferences", json=body, headers={"Idempotency-Key": "b"})
    again = await alice.put("/v1/preferences", json=body, headers={"Idempotency-Key": "b"})
    assert (first.status_code, again.status_code, again.json()) == (200, 200, first.json())


async def test_there_is_room_for_a_thousand_preferences_and_no_more(client: MakeClient) -> None:
    alice = await client()
    for start in range(0, MAX_PREFERENCES, MAX_BATCH_ITEMS):
        items = [{"key": f"k{start + n}", "value": n, "version": None} for n in range(MAX_BATCH_ITEMS)]
        assert (await alice.put("/v1/preferences", json={"items": items})).status_code == 200
    one_more = await alice.put("/v1/preferences/more", json={"value": 1}, headers={"If-None-Match": "*"})
    assert (one_more.status_code, one_more.json()["code"]) == (403, "quota_exceeded")
    changed = await alice.put("/v1/preferences/k1", json={"value": 2}, headers={"If-Match": '"1"'})
    assert changed.status_code == 200
