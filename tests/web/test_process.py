"""The API process on the real servers: it serves on a schema that it knows, and on no other."""

import httpx

from app.main import create_app
from app.settings import Settings
from tests.conftest import make_token


async def _answers(settings: Settings) -> tuple[httpx.Response, httpx.Response]:
    """Return what a process with these settings says of itself, and to a user."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://cairn.test") as client:
            headers = {"Authorization": f"Bearer {make_token('alice', 'acme')}"}
            return await client.get("/readyz"), await client.get("/v1/profile", headers=headers)


async def test_on_its_own_schema_a_process_is_ready(settings: Settings) -> None:
    ready, served = await _answers(settings)
    assert (ready.status_code, ready.json()["status"], served.status_code) == (200, "ready", 200)
    assert {"postgres", "keys", "redis"} <= ready.json()["stores"].keys()
    assert set(ready.json()["stores"].values()) == {"up"}


async def test_on_another_schema_it_is_not_and_serves_nobody(settings: Settings) -> None:
    elsewhere = settings.model_copy(update={"database_url": settings.keys_url})
    ready, served = await _answers(elsewhere)
    assert (ready.status_code, ready.json()["status"]) == (503, "unsupported_schema")
    assert (served.status_code, served.json()["code"]) == (503, "store_unavailable")


async def test_with_issuers_keys_a_token_by_the_secret_is_nothing(settings: Settings) -> None:
    published = {"auth_jwks_url": "http://127.0.0.1:9/keys.json", "auth_issuer": "i", "auth_audience": "a"}
    _, served = await _answers(settings.model_copy(update=published))
    assert (served.status_code, served.json()["code"]) == (401, "unauthorized")
