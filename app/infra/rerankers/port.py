"""What a reranker takes, gives and promises."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Reads a question and texts together, and says how well each answers it."""

    async def rate(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a number for each text, the higher the better. Raises RerankerUnavailableError."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


class RerankerUnavailableError(Exception):
    """The model gave no numbers in time, or none that can be used: the order that was there stays."""
