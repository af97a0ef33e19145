"""The small application under test, served over ASGI, with its log in memory."""

import io
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.web.application import Site, make_app
from tests.web.issuer import claims, signed

ALL_SCOPES = "sessions memories profile preferences preferences:explicit knowledge context audit export forget"


@pytest.fixture
async def site(written: io.BytesIO) -> AsyncIterator[Site]:
    app = make_app()
    token = signed(claims(scope=ALL_SCOPES, tenant="acme"))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://cairn.test", headers=headers) as client:
        yield Site(app, client, written)
