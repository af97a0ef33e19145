"""The embedded servers under test: one stack for the tests that only look, folders for those that start their own."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Stack

AWKWARD_NAME = 'it\'s "da ta" ä'


@pytest.fixture(scope="session")
def shelf() -> Iterator[Path]:
    """What /var/lib/cairn is to `cairn up`: reachable by PostgreSQL's user, which pytest's own folders aren't."""
    folder = Path(tempfile.mkdtemp(prefix="cairn-shelf-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def reachable() -> Iterator[Path]:
    """An empty folder that every user can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="cairn-open-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory, shelf: Path) -> Iterator[Stack]:
    """Started in an environment and a folder that would lead careless servers astray."""
    hostile = {"CHROMA_LISTEN_ADDRESS": "0.0.0.0", "CHROMA_PORT": "1", "PGPORT": "1", "PGDATA": "/", "LC_ALL": "xx_YY"}  # noqa: S104 (that it isn't listened on is tested)
    before = dict(os.environ)
    os.environ.update(hostile)
    stack = Stack(tmp_path_factory.mktemp("servers") / AWKWARD_NAME, durability=Durability.TESTS, shelf=shelf)
    stack.start()
    for name in hostile:
        del os.environ[name]
    os.environ.update(before)
    yield stack
    stack.stop()
    stack.remove()
