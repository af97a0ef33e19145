"""What is special about models of sentence-transformers: revisions of folders, and models that aren't there."""

from pathlib import Path

import pytest

from app.infra.embedders.port import EmbedderUnavailableError
from app.infra.embedders.sentence_transformers import SentenceTransformersEmbedder
from tests.embedders.models import tiny_model

pytest.importorskip("sentence_transformers", reason="the extra bge isn't installed")


def test_the_revision_of_a_folder_changes_with_its_weights(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path)
    before = SentenceTransformersEmbedder(str(folder)).revision
    assert SentenceTransformersEmbedder(str(folder)).revision == before
    weights = folder / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-5] ^= 1
    weights.write_bytes(changed)
    assert SentenceTransformersEmbedder(str(folder)).revision != before


def test_a_model_that_isnt_there_is_an_error(tmp_path: Path) -> None:
    embedder = SentenceTransformersEmbedder(str(tmp_path / "nothing"))
    with pytest.raises(EmbedderUnavailableError, match="folder"):
        embedder.load()


def test_the_dimensions_of_the_known_model_need_no_loading() -> None:
    embedder = SentenceTransformersEmbedder("BAAI/bge-m3", revision="5617a9f")
    assert (embedder.name, embedder.dimensions, embedder.revision) == ("st:BAAI/bge-m3", 1024, "5617a9f")
