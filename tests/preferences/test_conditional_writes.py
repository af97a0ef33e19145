"""A write of a preference is bound to a version: of many at once one wins, and what is stale changes nothing."""

import asyncio
from collections import Counter
from collections.abc import Mapping

import httpx
import pytest

from tests.conftest import MakeClient

TEN = range(10)
ABSENT = {"If-None-Match": "*"}


def at(version: int) -> Mapping[str, str]:
    return {"If-Match": f'"{version}"'}


async def test_a_first_write_makes_version_one(client: MakeClient) -> None:
    alice = await client()
    answer = await alice.put(
        "/v1/preferences/language",
        json={"value": "zh-CN", "reason": "said so"},
        headers=ABSENT,
    )
    assert answer.status_code == 201
    assert answer.headers["etag"] == '"1"'
    shown = answer.json()
    assert shown["id"].startswith("prf_")
    assert shown["created_at"] == shown["updated_at"]
    assert {name: shown[name] for name in ("key", "value", "agent_id", "version", "state", "trust", "reason")} == {
        "key": "language",
        "value": "zh-CN",
        "agent_id": None,
        "version": 1,
        "state": "kept",
        "trust": "explicit",
        "reason": "said so",
    }


async def test_of_ten_writes_of_one_version_one_wins(client: MakeClient) -> None:
    alice = await client()
    await alice.put("/v1/preferences/language", json={"value": "en"}, headers=ABSENT)
    answers = await asyncio.gather(
        *(alice.put("/v1/preferences/language", json={"value": number}, headers=at(1)) for number in TEN)
    )
    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 9}
    for answer in answers:
        assert answer.headers["etag"] == '"2"'
        if answer.status_code == 412:
            assert answer.json()["code"] == "stale_version"
            assert answer.json()["current_version"] == 2
    winner = next(answer.json() for answer in answers if answer.status_code == 200)
    shown = (await alice.get("/v1/preferences/language")).json()
    assert (winner.pop("merged"), winner.pop("passed_over")) == (False, None)
    assert {name: shown[name] for name in winner} == winner


async def test_of_ten_creations_one_wins(client: MakeClient) -> None:
    alice = await client()
    answers = await asyncio.gather(
        *(alice.put("/v1/preferences/theme", json={"value": number}, headers=ABSENT) for number in TEN)
    )
    assert Counter(answer.status_code for answer in answers) == {201: 1, 412: 9}
    refused = [answer for answer in answers if answer.status_code == 412]
    assert {(answer.json()["code"], answer.json()["current_version"]) for answer in refused} == {("exists", 1)}


async def test_the_history_of_a_race_has_no_gap(client: MakeClient) -> None:
    alice = await client()
    await alice.put("/v1/preferences/language", json={"value": 0}, headers=ABSENT)

    async def keep_trying(writer: int) -> None:
        version = 1
        while True:
            answer = await alice.put("/v1/preferences/language", json={"value": writer}, headers=at(version))
            if answer.status_code == 200:
                return
            version = answer.json()["current_version"]

    await asyncio.gather(*map(keep_trying, TEN))
    history = (await alice.get("/v1/preferences/language/history")).json()["items"]
    assert [entry["version"] for entry in history] == list(range(11, 0, -1))
    assert sorted(entry["value"] for entry in history[:-1]) == list(TEN)


async def test_a_write_without_a_precondition_is_refused(client: MakeClient) -> None:
    alice = await client()
    for answer in (
        await alice.put("/v1/preferences/language", json={"value": 1}),
        await alice.delete("/v1/preferences/language"),
        await alice.post("/v1/preferences/language/rollback", json={"to_version": 1}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (428, "precondition_required")


async def test_a_version_of_what_is_not_there_is_stale(client: MakeClient) -> None:
    alice = await client()
    answer = await alice.put("/v1/preferences/language", json={"value": 1}, headers=at(1))
    assert (answer.status_code, answer.json()["current_version"]) == (412, 0)
    assert (await alice.get("/v1/preferences/language")).status_code == 404


async def test_a_stale_version_is_refused_and_changes_nothing(client: MakeClient) -> None:
    alice = await client()
    await alice.put("/v1/preferences/language", json={"value": "en"}, headers=ABSENT)
    await alice.put("/v1/preferences/language", json={"value": "zh-CN"}, headers=at(1))
    before = (await alice.get("/v1/preferences")).json()
    stale = await alice.put("/v1/preferences/language", json={"value": "fr"}, headers=at(1))
    deletion = await alice.delete("/v1/preferences/language", headers=at(1))
    rollback = await alice.post("/v1/preferences/language/rollback", json={"to_version": 1}, headers=at(1))
    assert [answer.status_code for answer in (stale, deletion, rollback)] == [412, 412, 412]
    assert (await alice.get("/v1/preferences")).json() == before


@pytest.mark.parametrize("form", ['"1"', "1", 'W/"1"', '"7", "1"'])
async def test_every_form_of_a_version_is_understood(client: MakeClient, form: str) -> None:
    alice = await client()
    await alice.put("/v1/preferences/language", json={"value": "en"}, headers=ABSENT)
    answer = await alice.put("/v1/preferences/language", json={"value": "zh"}, headers={"If-Match": form})
    assert answer.status_code == 200


async def test_a_read_of_the_version_that_the_client_has_is_not_repeated(client: MakeClient) -> None:
    alice = await client()
    await alice.put("/v1/preferences/language", json={"value": "en"}, headers=ABSENT)
    first = await alice.get("/v1/preferences/language")
    again = await alice.get("/v1/preferences/language", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", '"1"')
    older = await alice.get("/v1/preferences/language", headers={"If-None-Match": '"9"'})
    assert older.status_code == 200


async def test_a_repeated_request_has_one_effect(client: MakeClient) -> None:
    alice = await client()

    async def write(value: str) -> httpx.Response:
        headers = {**ABSENT, "Idempotency-Key": "turn-1"}
        return await alice.put("/v1/preferences/language", json={"value": value}, headers=headers)

    first, again, other = await write("en"), await write("en"), await write("fr")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert (again.headers["idempotent-replayed"], again.headers["etag"]) == ("true", '"1"')
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert len((await alice.get("/v1/preferences/language/history")).json()["items"]) == 1


async def test_ten_copies_of_one_request_have_one_effect(client: MakeClient) -> None:
    alice = await client()
    headers = {**ABSENT, "Idempotency-Key": "turn-1"}
    answers = await asyncio.gather(
        *(alice.put("/v1/preferences/language", json={"value": "en"}, headers=headers) for _ in TEN)
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert len((await alice.get("/v1/preferences/language/history")).json()["items"]) == 1
