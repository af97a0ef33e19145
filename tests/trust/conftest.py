"""One installation of the whole product for the tests of what must hold; each of them leaves it running."""

import shutil
from collections.abc import Iterator

import pytest

from tests.summarisers import endpoint
from tests.summarisers.endpoint import Recorder
from tests.trust.deployment import Deployment
from tests.trust.running import Installation, Running


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    made = Installation()
    try:
        yield made
    finally:
        made.remove()
        shutil.rmtree(made.folder)


@pytest.fixture(scope="session")
def model() -> Iterator[Recorder]:
    """An endpoint for chats, which says what a test wants it to."""
    with endpoint.running() as recorder:
        yield recorder


@pytest.fixture(scope="session")
def deployment(model: Recorder) -> Iterator[Deployment]:
    """The product as processes of their own that can be killed one by one; each test leaves all of them running."""
    made = Deployment(CAIRN_SUMMARISER="openai", CAIRN_LLM_BASE_URL=model.url, CAIRN_LLM_MODEL="tiny")
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def up(installation: Installation) -> Running:
    """The `cairn up` of that installation, ready: started again where the test before has ended it."""
    return installation.ensure()
