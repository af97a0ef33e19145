"""A PostgreSQL of the house's own, migrated: what its tests look at is the catalogue, not the rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.infra.db import migrations
from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Server, Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = Path(tmp_path_factory.mktemp("house"))
    stack = Stack(folder, external=frozenset({Server.REDIS, Server.CHROMA}), durability=Durability.TESTS)
    with stack:
        yield stack
    stack.remove()


@pytest.fixture(scope="session")
def database(stack: Stack) -> str:
    """The owner's URL of the data's database, at the newest revision."""
    owner_url, keys_url = str(stack.urls.database_owner), str(stack.urls.keys)
    migrations.upgrade(owner_url, keys_url)
    return owner_url
