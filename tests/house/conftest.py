"""What the house's tests look at: the application, unconnected, and a migrated PostgreSQL of their own to spoil."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fastapi import FastAPI

from app.infra.db import migrations
from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Server, Stack, Urls
from app.main import create_app
from app.settings import Settings


@pytest.fixture(scope="session")
def app() -> FastAPI:
    return create_app(Settings())


@pytest.fixture(scope="session")
def urls() -> Iterator[Urls]:
    """PostgreSQL alone: neither of the other servers is looked at here."""
    with TemporaryDirectory(prefix="cairn-house-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs the tests
        stack = Stack(
            Path(folder) / "data", external=frozenset({Server.REDIS, Server.CHROMA}), durability=Durability.TESTS
        )
        with stack:
            yield stack.urls
        stack.remove()


@pytest.fixture(scope="session")
def database(urls: Urls) -> str:
    """The owner's URL of the data's database, at the newest revision."""
    owner_url, keys_url = str(urls.database_owner), str(urls.keys)
    migrations.upgrade(owner_url, keys_url)
    return owner_url
