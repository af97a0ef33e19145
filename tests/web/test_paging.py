"""Lists, page by page."""

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.web.application import Site


async def _list(site: Site, path: str = "/v1/things", **params: object) -> tuple[int, dict[str, Any]]:
    answer = await site.client.get(path, params={name: str(value) for name, value in params.items()})
    return answer.status_code, answer.json()


async def _cursor(site: Site) -> str:
    _, page = await _list(site)
    cursor: str = page["next_cursor"]
    return cursor


async def test_a_first_page_has_fifty_and_no_beginning(site: Site) -> None:
    status, page = await _list(site)
    assert (status, page["limit"], page["after"]) == (200, 50, None)


async def test_a_cursor_comes_back_as_the_position_that_it_was_made_of(site: Site) -> None:
    status, page = await _list(site, cursor=await _cursor(site), limit=200)
    assert (status, page["limit"], page["after"]) == (200, 200, {"at": 17, "id": "a"})


@pytest.mark.parametrize("limit", ["0", "201", "-1", "1.5", "many", ""])
async def test_a_limit_is_between_one_and_two_hundred(site: Site, limit: str) -> None:
    status, problem = await _list(site, limit=limit)
    assert (status, problem["errors"][0]["field"]) == (422, "limit")


async def test_a_cursor_of_another_list_is_refused(site: Site) -> None:
    status, problem = await _list(site, "/v1/things/of-others", cursor=await _cursor(site))
    assert (status, problem["errors"][0]["field"]) == (422, "cursor")


async def test_a_cursor_of_another_installation_is_refused(site: Site) -> None:
    cursor = await _cursor(site)
    site.app.state.cursor_key = b"another key"
    assert (await _list(site, cursor=cursor))[0] == 422


async def test_a_position_that_a_client_made_up_is_refused(site: Site) -> None:
    made_up = base64.urlsafe_b64encode(bytes(16) + json.dumps({"at": 1, "id": "b"}).encode()).decode()
    assert (await _list(site, cursor=made_up))[0] == 422


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(place=st.integers(0, 1_000), letter=st.sampled_from("ABCXYZabcxyz0189-_"))
async def test_a_cursor_with_another_letter_is_refused(site: Site, place: int, letter: str) -> None:
    cursor = await _cursor(site)
    place %= len(cursor) - 1  # the last letter holds bits that no byte is made of
    changed = cursor[:place] + letter + cursor[place + 1 :]
    assert (await _list(site, cursor=changed))[0] == (200 if changed == cursor else 422)


@pytest.mark.parametrize("cursor", ["", "a", "=", "%%%", "é", "x" * 1_025, "\x00", "a b"])
async def test_what_is_no_cursor_is_refused(site: Site, cursor: str) -> None:
    assert (await _list(site, cursor=cursor))[0] == 422
