"""What an extractor takes, gives and promises."""

from collections.abc import Sequence
from typing import Protocol

from app.core.writing import Finding


class Extractor(Protocol):
    """Finds what a user's message states. A message is data to it: nothing in one is ever followed."""

    async def extract(self, text: str) -> Sequence[Finding]:
        """Return what the text states, in its order. Raises ExtractorUnavailableError."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


class ExtractorUnavailableError(Exception):
    """The model gave no answer in time, or none that can be used: what the rules found stands."""
