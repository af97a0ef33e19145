"""Identity: who may do what, and what the rest of the request knows of the caller."""

import httpx
import pytest

from app.core.ids import show
from app.core.scope import Subject
from app.web.auth import PERMISSIONS, allow, permits
from tests.web.application import Site
from tests.web.issuer import claims, signed


def bearer(**changes: object) -> dict[str, str]:
    return {"Authorization": f"Bearer {signed(claims(**changes))}"}


async def test_a_scope_is_made_of_the_token_and_of_the_request(site: Site) -> None:
    headers = bearer(tenant="acme", agent="helpdesk", scope="sessions") | {"X-Request-ID": "r-7"}
    answer = await site.client.get("/v1/things/scope", headers=headers)
    assert answer.json() == {
        "tenant": "acme",
        "usr": show("usr", site.register.known[Subject("", "acme", "alice")]),
        "agent": "helpdesk",
        "actor": "user",
        "request_id": "r-7",
        "address": "loopback",
    }


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("10.1.2.3", "private"),
        ("fd00::1", "private"),
        ("8.8.8.8", "public"),
        ("nonsense", "unknown"),
    ],
)
async def test_of_an_address_only_its_class_is_kept(site: Site, host: str, address: str) -> None:
    transport = httpx.ASGITransport(site.app, client=(host, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://cairn.test") as client:
        answer = await client.get("/v1/things/scope", headers=site.client.headers)
    assert answer.json()["address"] == address
    assert host not in site.written.getvalue().decode()


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        ({}, 'Bearer realm="cairn"'),
        ({"Authorization": "Bearer"}, 'Bearer realm="cairn", error="invalid_token"'),
        ({"Authorization": "Bearer "}, 'Bearer realm="cairn", error="invalid_token"'),
        ({"Authorization": "Basic YTpi"}, 'Bearer realm="cairn", error="invalid_token"'),
        ({"Authorization": "Bearer a.b.c"}, 'Bearer realm="cairn", error="invalid_token"'),
        (bearer(exp=1), 'Bearer realm="cairn", error="invalid_token"'),
    ],
)
async def test_without_a_good_token_there_is_a_challenge(site: Site, headers: dict[str, str], challenge: str) -> None:
    del site.client.headers["Authorization"]
    answer = await site.client.get("/v1/things/scope", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == challenge
    assert site.register.known == {}


async def test_two_tokens_are_none(site: Site) -> None:
    twice = [("Authorization", value) for value in [site.client.headers["Authorization"]] * 2]
    del site.client.headers["Authorization"]
    assert (await site.client.get("/v1/things/scope", headers=twice)).status_code == 401


async def test_the_scheme_is_not_case_sensitive(site: Site) -> None:
    token = site.client.headers["Authorization"].removeprefix("Bearer ")
    answer = await site.client.get("/v1/things/scope", headers={"Authorization": f"bearer  {token}"})
    assert answer.status_code == 200


async def test_a_token_without_the_scope_is_told_which_and_makes_no_user(site: Site) -> None:
    answer = await site.client.get("/v1/things/scope", headers=bearer(scope="sessions:write profile"))
    assert (answer.status_code, answer.json()["code"], answer.json()["scope"]) == (
        403,
        "missing_scope",
        "sessions:read",
    )
    challenge = 'Bearer realm="cairn", error="insufficient_scope", scope="sessions:read"'
    assert answer.headers["WWW-Authenticate"] == challenge
    assert site.register.known == {}


async def test_a_client_without_a_user_is_refused(site: Site) -> None:
    answer = await site.client.get("/v1/things/scope", headers=bearer(sub="robot", client_id="robot", scope="sessions"))
    assert (answer.status_code, answer.json()["code"]) == (403, "no_user")
    assert site.register.known == {}


@pytest.mark.parametrize(
    ("held", "wanted", "may"),
    [
        ({"preferences"}, "preferences:read", True),
        ({"preferences"}, "preferences:write", True),
        ({"preferences"}, "preferences:explicit", False),
        ({"preferences:read"}, "preferences:write", False),
        ({"preferences:explicit"}, "preferences:read", False),
        ({"forget"}, "forget", True),
        ({"sessions"}, "forget", False),
        ({"admin"}, "admin:read", False),
        ({"admin:read"}, "admin:read", True),
        ({"admin:read"}, "admin:erase", False),
        (set(), "sessions:read", False),
        ({"*"}, "sessions:read", False),
    ],
)
def test_the_bare_name_means_reading_and_writing_and_nothing_beside(held: set[str], wanted: str, may: bool) -> None:  # noqa: FBT001 - a table
    assert permits(frozenset(held), wanted) is may


def test_a_permission_that_does_not_exist_is_an_error_of_ours() -> None:
    with pytest.raises(ValueError, match="sessions:delete"):
        allow("sessions:delete")
    assert allow("export").permission == "export"
    assert all(allow(permission).permission == permission for permission in PERMISSIONS)


@pytest.mark.parametrize("refusal", ["erased", "erasing", "processing_stopped"])
async def test_who_was_erased_may_ask_for_it_again(site: Site, refusal: str) -> None:
    subject = Subject("", "acme", "alice")
    first = (await site.client.delete("/v1/things/me")).json()["usr"]
    site.register.erased[subject] = site.register.known[subject]
    site.register.refusal = refusal
    again = await site.client.delete("/v1/things/me")
    assert (again.status_code, again.json()["usr"]) == (200, first)
    assert (await site.client.get("/v1/things/scope")).json()["code"] == refusal


async def test_who_was_erased_beyond_memory_is_refused(site: Site) -> None:
    site.register.refusal = "erased"
    assert (await site.client.delete("/v1/things/me")).status_code == 410


async def test_a_revoked_token_is_not_a_way_to_forget(site: Site) -> None:
    site.register.refusal = "unauthorized"
    answer = await site.client.delete("/v1/things/me")
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (
        401,
        'Bearer realm="cairn", error="invalid_token"',
    )
