"""The embedders under test, each made once, and a server that speaks OpenAI's protocol."""

from collections.abc import Iterator

import pytest

from app.infra.embedders.port import Embedder
from tests.embedders import endpoint
from tests.embedders.endpoint import Recorder
from tests.embedders.models import MODELS


@pytest.fixture(scope="session", params=MODELS)
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    with MODELS[request.param](tmp_path_factory.mktemp("model")) as made:
        yield made
        made.close()


@pytest.fixture
def server() -> Iterator[Recorder]:
    with endpoint.running() as recorder:
        yield recorder
