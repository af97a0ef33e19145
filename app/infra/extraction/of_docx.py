"""The text of a DOCX: headings, paragraphs with the numbers that Word counts, tables, then notes, headers and footers.

The XML is read as it is unpacked, and no tree of it is made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from app.infra.extraction.builder import TextBuilder
from app.infra.extraction.grids import Cell, Row, lines
from app.infra.extraction.model import Limits
from app.infra.extraction.numbering import Numbering, read_numbering
from app.infra.extraction.package import Attributes, Package
from app.infra.extraction.styles import Style, chain, read_styles

# What was deleted, moved away, is said twice, or tells how to read a character.
_LEFT_OUT: Final = frozenset({"del", "moveFrom", "Fallback", "rt", "pPrChange", "rPrChange", "tblPrChange", "sdtPr"})
_SIGNS: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_OFF: Final = frozenset({"0", "false", "off"})
_BODY_LEVEL: Final = 9
MAX_SPAN: Final = 1_000
MAX_MARGIN_BYTES: Final = 1024 * 1024


@dataclass(slots=True)
class _Paragraph:
    """A paragraph that is being read."""

    text: list[str] = field(default_factory=list)
    style: str = ""
    outline: int | None = None
    list_id: str | None = None
    depth: int | None = None


@dataclass(slots=True)
class _Table:
    """A table that is being read."""

    rows: list[Row] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    is_head: bool = False
    text: list[str] = field(default_factory=list)
    columns: int = 1
    continues: bool = False


def add_docx(builder: TextBuilder, data: bytes, limits: Limits) -> str:
    """Add the text of a document; return what is left out of it: what was deleted, comments, properties."""
    package = Package(data, limits)
    styles = read_styles(package)
    numbering = read_numbering(package)
    left_out = ""
    notes = [part for kind in ("footnotes", "endnotes") for part in package.related(kind)]
    margins = [part for kind in ("header", "footer") for part in package.related(kind)]
    for part in (package.main, *notes):
        reading = _Body(builder, styles, numbering)
        package.parse(part, reading.start, reading.end, reading.write)
        left_out += "".join(reading.left_out) + "\n"
    for paragraph in dict.fromkeys(_margins(package, margins)):
        builder.paragraph(paragraph)
    aside = [*package.related("comments"), "docProps/core.xml", "docProps/app.xml", "docProps/custom.xml"]
    left_out += "\n".join(_characters(package, part) for part in aside if package.has(part))
    return left_out


class _Body:
    """Writes a part to a builder as its elements begin and end."""

    def __init__(self, builder: TextBuilder, styles: Mapping[str, Style], numbering: Numbering) -> None:
        self._builder = builder
        self._styles = styles
        self._numbering = numbering
        self._paragraphs: list[_Paragraph] = []
        self._tables: list[_Table] = []
        self._hidden = 0
        self._in_text = 0
        self.left_out: list[str] = []

    def start(self, tag: str, given: Attributes) -> None:
        """Take the beginning of an element."""
        if self._hidden or tag in _LEFT_OUT:
            self._hidden += 1
        elif tag == "t":
            self._in_text += 1
        elif tag == "p":
            self._paragraphs.append(_Paragraph())
        elif tag == "tbl":
            self._tables.append(_Table())
        elif self._paragraphs and tag in _SIGNS:
            self._paragraphs[-1].text.append(_SIGNS[tag])
        elif self._paragraphs:
            _take_property(self._paragraphs[-1], tag, given.get("val", ""))
        elif self._tables:
            _take_cell_property(self._tables[-1], tag, given)

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if self._hidden:
            self._hidden -= 1
        elif tag == "t":
            self._in_text -= 1
        elif tag == "p" and self._paragraphs:
            self._end_paragraph(self._paragraphs.pop())
        elif tag == "tc" and self._tables:
            table = self._tables[-1]
            table.cells.append(Cell("\n".join(table.text), table.columns, continues=table.continues))
            table.text, table.columns, table.continues = [], 1, False
        elif tag == "tr" and self._tables:
            table = self._tables[-1]
            if table.cells:
                table.rows.append(Row(table.cells, table.is_head))
            table.cells, table.is_head = [], False
        elif tag == "tbl" and self._tables:
            self._end_table(self._tables.pop())

    def write(self, text: str) -> None:
        """Take characters."""
        if self._hidden or not self._in_text:
            self.left_out.append(text)
        elif self._paragraphs:
            self._paragraphs[-1].text.append(text)

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.text).strip()
        if not text:
            return
        text = f"{self._number(paragraph)} {text}".strip()
        if self._tables:
            self._tables[-1].text.append(text)
            return
        level = self._level(paragraph)
        if level is None:
            self._builder.paragraph(text)
        else:
            self._builder.heading(level, text)

    def _end_table(self, table: _Table) -> None:
        rows = list(lines(table.rows))
        if self._tables:
            self._tables[-1].text += rows
        else:
            self._builder.rows(rows)

    def _number(self, paragraph: _Paragraph) -> str:
        list_id, depth = paragraph.list_id, paragraph.depth
        for style in chain(self._styles, paragraph.style):
            list_id = list_id or style.list_id or None
            depth = style.depth if depth is None and style.list_id else depth
        return self._numbering.next(list_id, depth or 0) if list_id else ""

    def _level(self, paragraph: _Paragraph) -> int | None:
        outlines = [paragraph.outline, *(style.outline for style in chain(self._styles, paragraph.style))]
        outline = next((each for each in outlines if each is not None), _BODY_LEVEL)
        return outline + 1 if 0 <= outline < _BODY_LEVEL else None


def _take_property(paragraph: _Paragraph, tag: str, value: str) -> None:
    if tag == "pStyle":
        paragraph.style = value
    elif tag == "outlineLvl" and value.isdigit():
        paragraph.outline = int(value)
    elif tag == "numId":
        paragraph.list_id = value
    elif tag == "ilvl" and value.isdigit():
        paragraph.depth = int(value)


def _take_cell_property(table: _Table, tag: str, given: Attributes) -> None:
    value = given.get("val", "")
    if tag == "gridSpan" and value.isdigit():
        table.columns = min(int(value), MAX_SPAN)
    elif tag == "vMerge":
        table.continues = value != "restart"
    elif tag == "tblHeader":
        table.is_head = value not in _OFF


def _margins(package: Package, parts: Iterable[str]) -> Iterable[str]:
    """Return the paragraphs of headers and footers: those of many sections are alike."""
    for part in parts:
        builder = TextBuilder(MAX_MARGIN_BYTES)
        reading = _Body(builder, {}, Numbering())
        package.parse(part, reading.start, reading.end, reading.write)
        yield from builder.built()[0].split("\n\n")


def _characters(package: Package, part: str) -> str:
    found: list[str] = []
    package.parse(part, lambda _tag, _given: None, _nothing, found.append)
    return "".join(found)


def _nothing(_: str) -> None:
    pass
