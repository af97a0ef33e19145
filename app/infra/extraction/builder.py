"""Puts a text together from headings, paragraphs and tables, and notes where each is. Refuses what is too long."""

import re
from collections.abc import Sequence
from typing import Final

from app.core.text.clauses import opens_item
from app.infra.extraction.model import Heading, Layout, Refusal, RefusedError

MAX_HEADING_CHARS: Final = 200
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_LINE_ENDS: Final = re.compile("\r\n?|[\x0c\x85\u2028\u2029]")


class TextBuilder:
    """A text in the making."""

    def __init__(self, max_bytes: int) -> None:
        """Take the most bytes of UTF-8 that the text may have."""
        self._left = max_bytes
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[int] = []

    def page(self) -> None:
        """Begin a page."""
        self._pages.append(self._length)

    def heading(self, level: int, text: str) -> None:
        """Add a heading; what is too long to be one is a paragraph."""
        title = " ".join(clean(text).split())
        if not title or len(title) > MAX_HEADING_CHARS:
            self.paragraph(text)
            return
        start = self._length
        self._add(title + "\n\n")
        self._headings.append(Heading(start, self._length, level))

    def paragraph(self, text: str) -> None:
        """Add a paragraph; one that is an item of a list stays close to the next."""
        text = clean(text).strip()
        if text:
            self._add(text + ("\n" if opens_item(text, 0) else "\n\n"))

    def rows(self, rows: Sequence[str]) -> None:
        """Add the rows of a table, a line each."""
        for row in rows:
            self._add(clean(row) + "\n")
        if rows:
            self._add("\n")

    def lines(self, text: str) -> None:
        """Add text as it stands."""
        text = clean(text).rstrip()
        if text:
            self._add(text + "\n")

    def built(self) -> tuple[str, Layout]:
        """Return the text and its layout."""
        return "".join(self._parts), Layout(tuple(self._headings), tuple(self._pages))

    def _add(self, text: str) -> None:
        self._left -= len(text.encode())
        if self._left < 0:
            raise RefusedError(Refusal.TOO_MUCH_TEXT)
        self._parts.append(text)
        self._length += len(text)


def clean(text: str) -> str:
    """Return the text without controls and half characters, with the same end for every line."""
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", _LINE_ENDS.sub("\n", text)))
