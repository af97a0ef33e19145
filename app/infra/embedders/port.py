"""What an embedder promises, and the two ways in which one may fail."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  # one row a text, each of unit length: (n, dimensions)


class Embedder(Protocol):
    """A model that turns texts into vectors.

    Its methods are synchronous, may be slow and may be called by several threads at once: what isn't safe is
    serialised inside. Vectors compare only where `name`, `revision` and `dimensions` are equal. `dimensions` and
    `revision` may load the model where nothing but the model knows them.
    """

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_chars(self) -> int:
        """How many characters of a text count; what comes after them is not looked at."""
        ...

    def load(self) -> None:
        """Make the first `embed` as fast as the others; twice is the same as once."""
        ...

    def embed(self, texts: list[str]) -> Vectors:
        """Return a unit vector for every text, in order; any string is a text, the empty one too."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count without the model's own marks; exact up to texts.COUNTED_CHARS characters, from samples above."""
        ...

    def close(self) -> None:
        """Give back connections and memory; nothing is called afterwards."""
        ...


class EmbedderUnavailableError(Exception):
    """The model doesn't answer now; later it may."""


class EmbedderLateError(EmbedderUnavailableError):
    """The model hasn't answered in the time that its caller had."""


class EmbedderMisconfiguredError(Exception):
    """The model can't answer as it is set up: a package, a key or a dimension is wrong."""
