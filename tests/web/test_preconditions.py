"""Preconditions: every form that clients and proxies send, and what is none."""

import pytest

from tests.web.application import MERGE_PATCH, Site

THING = "/v1/things/ses_" + "0" * 32
PATCH = {"Content-Type": MERGE_PATCH}
CURRENT = 3


@pytest.mark.parametrize(
    ("header", "versions"),
    [
        ('"3"', [3]),
        ("3", [3]),
        ('W/"3"', [3]),
        ('"0"', [0]),
        ('"3", "4"', [3, 4]),
        ('"3",W/"4" ,\t5', [3, 4, 5]),
        ('"abc"', []),
        ('W/""', []),
        ('"03"', []),
        ('"-3"', []),
        ('"3.0"', []),
        ('"' + "9" * 40 + '"', []),
        ("9" * 18, [10**18 - 1]),
        ("*", []),
    ],
)
async def test_if_match_names_versions_in_many_forms(site: Site, header: str, versions: list[int]) -> None:
    answer = await site.client.patch(THING, content='{"text": "x"}', headers=PATCH | {"If-Match": header})
    assert (answer.status_code, answer.json()) == (200, {"versions": versions})


async def test_if_match_in_two_lines_is_one_list(site: Site) -> None:
    headers = [*PATCH.items(), ("If-Match", '"1"'), ("If-Match", '"2"')]
    answer = await site.client.patch(THING, content='{"text": "x"}', headers=headers)
    assert answer.json() == {"versions": [1, 2]}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "abc",
        '"3',
        '3"',
        'w/"3"',
        "W/3",
        '"3" "4"',
        '"3",',
        ",",
        "*, *",
        '*, "3"',
        "٣",
        '"a"b"',
        ", ".join(["1"] * 21),
    ],
)
async def test_what_is_no_etag_is_refused(site: Site, header: str) -> None:
    headers = [(b"Content-Type", MERGE_PATCH.encode()), (b"If-Match", header.encode())]
    answer = await site.client.patch(THING, content='{"text": "x"}', headers=headers)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, ["If-Match"])


async def test_without_a_precondition_a_write_is_refused(site: Site) -> None:
    for call in (site.client.put(THING, json={"text": "x"}), site.client.delete(THING)):
        answer = await call
        assert (answer.status_code, answer.json()["code"]) == (428, "precondition_required")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"If-Match": '"3"'}, 200, None),
        ({"If-Match": '"2", "3"'}, 200, None),
        ({"If-Match": '"2"'}, 412, "stale_version"),
        ({"If-Match": '"abc"'}, 412, "stale_version"),
        ({"If-Match": "*"}, 422, "invalid"),
        ({"If-None-Match": "*"}, 412, "exists"),
        ({"If-None-Match": '"3"'}, 422, "invalid"),
        ({"If-Match": '"3"', "If-None-Match": "*"}, 422, "invalid"),
    ],
)
async def test_a_write_takes_a_version_or_absence(
    site: Site, headers: dict[str, str], status: int, code: str | None
) -> None:
    answer = await site.client.put(THING, json={"text": "x"}, headers=headers)
    assert (answer.status_code, answer.json().get("code")) == (status, code)
    assert status != 412 or (answer.headers["ETag"], answer.json()["current_version"]) == ('"3"', CURRENT)


async def test_any_version_will_do_where_the_route_says_so(site: Site) -> None:
    assert (await site.client.delete(THING, headers={"If-Match": "*"})).status_code == 204


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ('"3"', 304),
        ('W/"3"', 304),
        ('"1", "3"', 304),
        ("*", 304),
        ("3", 304),
        ('"2"', 200),
        ("nonsense", 200),
        ("", 200),
    ],
)
async def test_who_has_the_version_is_not_sent_it_again(site: Site, header: str, status: int) -> None:
    answer = await site.client.get(THING, headers={"If-None-Match": header})
    assert (answer.status_code, answer.headers["ETag"]) == (status, '"3"')
    assert bool(answer.content) == (status == 200)
