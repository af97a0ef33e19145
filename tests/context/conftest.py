"""A worker that runs beside a test: documents are read by it."""

from collections.abc import AsyncIterator

import pytest_asyncio

from app import wiring as product
from app.settings import Settings
from tests.knowledge.conftest import drop_old_jobs, working


@pytest_asyncio.fixture
async def worker(wiring: product.Wiring, settings: Settings, tenant: str) -> AsyncIterator[None]:
    """A worker that does what this test owes."""
    await drop_old_jobs(settings, tenant)
    async with working(wiring, settings):
        yield
