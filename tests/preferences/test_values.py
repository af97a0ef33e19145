"""What a key and a value can be: any JSON comes back as it was sent, within bounds."""

import json
from urllib.parse import quote

import pytest

from tests.conftest import MakeClient

ABSENT = {"If-None-Match": "*"}
VALUES: list[object] = [
    None,
    True,
    0,
    -(2**63),
    2**63 - 1,
    0.1,
    1e300,
    "",
    "简体中文 🀄 \u202e",
    [],
    {},
    {"": {"嵌套": [1, None, {"a": "b"}]}},
]


@pytest.mark.parametrize("value", VALUES)
async def test_any_json_comes_back_as_it_was_sent(client: MakeClient, value: object) -> None:
    alice = await client()
    written = await alice.put("/v1/preferences/v", json={"value": value}, headers=ABSENT)
    assert written.status_code == 201
    assert [written.json()["value"], (await alice.get("/v1/preferences/v")).json()["value"]] == [value, value]


@pytest.mark.parametrize(
    "value",
    [
        json.dumps("x" * 20_000),
        "[" * 9 + "]" * 9,
        "[" * 5_000 + "]" * 5_000,
        "NaN",
        "1e400",
        str(2**63),
        "9" * 5_000,
        r'"\ud800"',
        r'"\u0000"',
        r'{"\ud800": 1}',
        r'[{"a": "\u0000"}]',
    ],
    ids=lambda value: value[:12],
)
async def test_what_cannot_be_kept_is_refused(client: MakeClient, value: str) -> None:
    alice = await client()
    answer = await alice.put(
        "/v1/preferences/v",
        content='{"value": ' + value + "}",
        headers={**ABSENT, "Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert (await alice.get("/v1/preferences/v")).status_code == 404


@pytest.mark.parametrize("key", ["Language", "a b", "ä", "语言", "a" * 129, "a:b", "a\n"])
async def test_a_key_that_cannot_be_is_refused(client: MakeClient, key: str) -> None:
    alice = await client()
    single = await alice.put(f"/v1/preferences/{quote(key)}", json={"value": 1}, headers=ABSENT)
    batch = await alice.put("/v1/preferences", json={"items": [{"key": key, "value": 1, "version": None}]})
    assert [single.status_code, batch.status_code] == [422, 422]
    assert single.json()["errors"][0]["field"] == "key"
    assert key not in single.text + batch.text


@pytest.mark.parametrize("key", ["a", "a" * 128, "0.9_a-b", "history"])
async def test_a_key_of_the_allowed_characters_is_taken(client: MakeClient, key: str) -> None:
    alice = await client()
    assert (await alice.put(f"/v1/preferences/{key}", json={"value": 1}, headers=ABSENT)).status_code == 201
    assert (await alice.get(f"/v1/preferences/{key}")).json()["key"] == key


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"value": 1, "vlaue": 1},
        {"value": 1, "agent_id": "writer"},
        {"value": 1, "reason": ""},
        {"value": 1, "reason": "x" * 1_001},
        {"value": 1, "evidence": {"kind": "rumour", "id": "msg_" + "0" * 32}},
        {"value": 1, "evidence": {"kind": "document", "id": "msg_" + "0" * 32}},
        {"value": 1, "evidence": {"kind": "message", "id": "msg_1"}},
        [],
        "value",
    ],
)
async def test_a_body_that_is_not_valid_is_refused(client: MakeClient, body: object) -> None:
    alice = await client()
    answer = await alice.put("/v1/preferences/v", json=body, headers=ABSENT)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
