"""What tests stand on: real servers, started once; the product wired to them; users in tenants of their own."""

import asyncio
import io
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import hypothesis
import pytest
import pytest_asyncio
import structlog
from fastapi import FastAPI
from jose import jwt
from xdist.scheduler import LoadScopeScheduling

from app import wiring as product
from app.core.scope import Scope, Subject
from app.infra.crypto.master import MasterKeys
from app.infra.db import migrations
from app.infra.embedded.stack import Stack, start_for_tests
from app.infra.observability.logs import set_up_logs
from app.main import create_app
from app.settings import Settings

SECRET = "a secret of the tests, and of nothing else"
USER_SCOPES = "sessions memories profile preferences preferences:explicit knowledge context audit export forget"
MASTER_KEY = MasterKeys.generate("test")

# A busy machine is no reason for an example to be too slow.
hypothesis.settings.register_profile("cairn", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("cairn")

# The folders whose tests take longest.
SLOW = ("trust", "knowledge", "sessions", "lease")

MakeScope = Callable[..., Awaitable[Scope]]
MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="the long form of what must hold (`make trust`)")


class Shares(LoadScopeScheduling):  # type: ignore[misc] # the library has no types
    """How tests are dealt out to processes (`make test`): folder by folder, for a folder's tests share what is slow to
    start: an installation of the product, a PostgreSQL, a model.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0].rpartition("/")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Shares:
    config.option.loadscopereorder = False  # the folder with the most tests isn't the one that takes longest
    return Shares(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deal the folders out that take longest first: begun last, one of them would keep one process for minutes."""
    items.sort(key=lambda item: SLOW.index(item.path.parent.name) if item.path.parent.name in SLOW else len(SLOW))


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The three servers, migrated."""
    with TemporaryDirectory(prefix="cairn-tests-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs the tests
        running = start_for_tests(Path(folder) / "data")
        try:
            owner, keys = running.urls.database_owner, running.urls.keys
            assert owner is not None
            assert keys is not None
            migrations.upgrade(owner, keys)
            yield running
        finally:
            running.stop()
            running.remove()


@pytest.fixture(scope="session")
def settings(stack: Stack) -> Settings:
    """The settings of a process on those servers."""
    urls = stack.urls
    return Settings.model_validate(
        {
            "auth_secret": SECRET,
            "master_key": MASTER_KEY,
            "default_scopes": USER_SCOPES,
            "database_url": urls.database,
            "database_owner_url": urls.database_owner,
            "database_log_url": urls.database_log,
            "queue_url": urls.queue,
            "keys_url": urls.keys,
            "redis_url": urls.redis,
            "chroma_url": urls.chroma,
            "data_dir": stack.data,
            "drain_s": 0,
            "context_deadline_s": 20,  # a busy machine is no reason for a test to fail
            "embedder_deadline_s": 20,
        },
    )


@pytest_asyncio.fixture(scope="session")
async def wiring(settings: Settings) -> AsyncIterator[product.Wiring]:
    """Every object of the product, built once for the run."""
    async with product.build(settings) as wired:
        yield wired


@pytest.fixture
def tenant() -> str:
    """A tenant of this test's own."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest_asyncio.fixture
async def scope(wiring: product.Wiring, tenant: str) -> MakeScope:
    """A maker of users: called with a `sub` and an agent, or with nothing for somebody new."""

    async def make(sub: str | None = None, agent: str | None = None, in_tenant: str | None = None) -> Scope:
        subject = Subject("", in_tenant or tenant, sub or f"user-{uuid.uuid4().hex[:8]}")
        usr = await wiring.directory.enter(subject, int(time.time()), None)
        return Scope(subject.tenant, usr, agent, request_id="req_test", address="loopback")

    return make


def make_token(sub: str, tenant: str, **claims: str | int) -> str:
    """Return a token that the product takes."""
    now = int(time.time())
    return jwt.encode({"sub": sub, "tenant": tenant, "iat": now, "exp": now + 600, **claims}, SECRET, algorithm="HS256")


@pytest_asyncio.fixture(scope="session")
async def app(settings: Settings) -> AsyncIterator[FastAPI]:
    """One application for the run."""
    made = create_app(settings)
    async with made.router.lifespan_context(made):
        yield made


@pytest_asyncio.fixture
async def client(app: FastAPI, tenant: str) -> AsyncIterator[MakeClient]:
    """A maker of clients of the application: called with a `sub`, each has a token of its own."""
    async with AsyncExitStack() as closing:

        async def make(sub: str = "alice", in_tenant: str | None = None, **claims: str | int) -> httpx.AsyncClient:
            return await closing.enter_async_context(
                httpx.AsyncClient(
                    transport=httpx.ASGITransport(app=app),
                    base_url="http://cairn.test",
                    headers={"Authorization": f"Bearer {make_token(sub, in_tenant or tenant, **claims)}"},
                    timeout=30,
                ),
            )

        yield make


@pytest_asyncio.fixture
async def app_client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application that has no token."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://cairn.test") as bare:
        yield bare


@pytest.fixture
def written() -> Iterator[io.BytesIO]:
    """What the process logs meanwhile."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    stream = io.BytesIO()
    set_up_logs("debug", stream)
    yield stream
    root.handlers[:], level = before
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


async def eventually(check: Callable[[], Awaitable[bool]], within_s: float = 20.0) -> None:
    """Wait until `check` says so; fail where it doesn't in time."""
    async with asyncio.timeout(within_s):
        while not await check():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.02)
