"""One installation of the whole product for the tests of what must hold; each of them leaves it running."""

import shutil
from collections.abc import Iterator

import pytest

from tests.trust.running import Installation, Running


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    made = Installation()
    try:
        yield made
    finally:
        made.remove()
        shutil.rmtree(made.folder)


@pytest.fixture
def up(installation: Installation) -> Running:
    """The `cairn up` of that installation, ready: started again where the test before has ended it."""
    return installation.ensure()
