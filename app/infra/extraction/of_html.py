"""The text of an HTML page: headings, paragraphs, tables. No tree is made, so that no nesting is too deep.

Python's own parser: it runs nothing, fetches nothing, and reads what browsers read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from app.infra.extraction.builder import TextBuilder
from app.infra.extraction.grids import Cell, Row, lines

_NOT_SHOWN: Final = frozenset({"script", "style", "template", "object", "iframe"})
_NAMES: Final = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form head header hgroup hr html legend li main menu nav ol optgroup option "
    "p pre search section summary tbody tfoot thead title ul"
)
_BLOCKS: Final = frozenset(_NAMES.split())
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_SPACES: Final = re.compile(r"[ \t\n\r\f]+")
MAX_SPAN: Final = 1_000


@dataclass(slots=True)
class _Table:
    """A table that is open."""

    rows: list[Row] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    heads: int = 0
    text: list[str] | None = None
    columns: int = 1
    spanned_rows: int = 1


class _Page(HTMLParser):
    """Writes what it reads to a builder."""

    def __init__(self, builder: TextBuilder) -> None:
        super().__init__(convert_charrefs=True)
        self._builder = builder
        self._text: list[str] = []
        self._level = 0
        self._pre = 0
        self._hidden: list[str] = []
        self._tables: list[_Table] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _NOT_SHOWN:
            self._hidden.append(tag)
        elif tag == "br":
            self._write("\n")
        elif tag in _HEADINGS:
            self._flush()
            self._level = _HEADINGS[tag]
        elif tag == "table":
            self._flush()
            self._tables.append(_Table())
        elif tag in {"tr", "td", "th"} and self._tables:
            self._open(self._tables[-1], tag, dict(attrs))
        elif tag in _BLOCKS:
            self._flush()
            self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in _NOT_SHOWN:
            if tag in self._hidden:
                del self._hidden[self._hidden.index(tag) :]
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._flush()
            self._pre -= tag == "pre" and self._pre > 0
        elif tag == "table" and self._tables:
            self._close_table()
        elif tag in {"td", "th"} and self._tables:
            _close_cell(self._tables[-1])
        elif tag == "tr" and self._tables:
            _close_row(self._tables[-1])

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._write(data if self._pre else _SPACES.sub(" ", data))

    def parse_html_declaration(self, i: int) -> int:
        """Read `<!...`. What browsers take for a comment is one: Python's parser fails on some of it."""
        if self.rawdata.startswith("<![", i):
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)

    def finish(self) -> None:
        """Write what the end of the page leaves open."""
        self.close()
        while self._tables:
            self._close_table()
        self._flush()

    def _write(self, text: str) -> None:
        if self._tables and (cell := self._tables[-1].text) is not None:
            cell.append(text)
        else:
            self._text.append(text)

    def _flush(self) -> None:
        """End a paragraph, or a line of a cell."""
        if self._tables and (cell := self._tables[-1].text) is not None:
            cell.append("\n")
            return
        text, self._text = "".join(self._text), []
        level, self._level = self._level, 0
        if level:
            self._builder.heading(level, text)
        else:
            self._builder.paragraph(_trimmed(text) if not self._pre else text)

    def _open(self, table: _Table, tag: str, attributes: dict[str, str | None]) -> None:
        if table.text is None:
            self._flush()
        _close_cell(table)
        if tag == "tr":
            _close_row(table)
            return
        table.heads += tag == "th"
        table.text = []
        table.columns, table.spanned_rows = _span(attributes.get("colspan")), _span(attributes.get("rowspan"))

    def _close_table(self) -> None:
        table = self._tables.pop()
        _close_cell(table)
        _close_row(table)
        if self._tables and (cell := self._tables[-1].text) is not None:
            cell.append("\n" + "\n".join(lines(table.rows)) + "\n")
            return
        self._flush()
        self._builder.rows(list(lines(table.rows)))


def add_html(builder: TextBuilder, text: str) -> None:
    """Add what a reader of the page sees."""
    page = _Page(builder)
    page.feed(text)
    page.finish()


def _close_cell(table: _Table) -> None:
    if table.text is not None:
        text = _trimmed("".join(table.text))
        table.cells.append(Cell(text, table.columns, table.spanned_rows))
        table.text = None


def _close_row(table: _Table) -> None:
    _close_cell(table)
    if table.cells:
        table.rows.append(Row(table.cells, is_head=table.heads == len(table.cells)))
    table.cells, table.heads = [], 0


def _span(given: str | None) -> int:
    return (
        min(int(given), MAX_SPAN) if given and given.isascii() and given.isdigit() and len(given) < len("10000") else 1
    )


def _trimmed(text: str) -> str:
    return "\n".join(filled(text.split("\n")))


def filled(given: Sequence[str]) -> list[str]:
    """Return the lines that hold something, without the spaces around them."""
    return [line.strip() for line in given if line.strip()]
