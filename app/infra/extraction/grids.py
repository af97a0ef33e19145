"""Tables become lines, one for each row, in which every cell has its column's name beside it. Pure.

A row so tells what it says when it is read alone: it is found by the name of the column as well as by the value.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# A longer name isn't repeated: it is prose, and a table of many rows would grow without bound.
MAX_NAME_CHARS: Final = 80
MAX_COLUMNS_SPANNED: Final = 1_000
# In a longer cell the ends of lines stay.
SHORT_CELL_CHARS: Final = 500
# Two columns are as often names and values as a table with a head: each row tells of itself either way.
_PAIR: Final = 2
_SPACES: Final = re.compile(r"\s+")
_ENDS_A_SENTENCE: Final = re.compile(r"[.!?。！？；;]\s*$")
_NUMBER: Final = re.compile(r"[\s\d.,:/%€$¥£+-]+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row: how many columns and rows it spans, and whether it only goes on with the one above."""

    text: str
    columns: int = 1
    rows: int = 1
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it was written. `is_head`: the format says that it names the columns."""

    cells: Sequence[Cell]
    is_head: bool = False


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table; none for a row without text."""
    filled = list(_filled(rows))
    width = max((len(row) for row in filled), default=0)
    head = _head(rows, filled, width)
    for index, row in enumerate(filled):
        if head is None or index == head:
            line = _plain(row, is_pair=width == _PAIR and head is None)
        else:
            line = _named(filled[head], row)
        if line:
            yield line


def named_row(names: Sequence[str], values: Sequence[str]) -> str:
    """Return the line of one row whose columns have these names."""
    return _named([_one_line(name) for name in names], [_one_line(value) for value in values])


def plain_row(values: Sequence[str]) -> str:
    """Return the line of one row whose columns have no names."""
    return _plain([_one_line(value) for value in values], is_pair=False)


def names_columns(cells: Sequence[str]) -> bool:
    """Return whether a first row looks like the names of columns: all there, short, none a sentence or a number."""
    return (
        len(cells) > 1 and len({cell.strip() for cell in cells}) == len(cells) and all(_is_name(cell) for cell in cells)
    )


def _is_name(cell: str) -> bool:
    cell = cell.strip()
    return 0 < len(cell) <= MAX_NAME_CHARS and not _NUMBER.fullmatch(cell) and not _ENDS_A_SENTENCE.search(cell)


def _head(rows: Sequence[Row], filled: Sequence[Sequence[str]], width: int) -> int | None:
    if width < _PAIR or len(filled) < _PAIR:
        return None
    if any(row.is_head for row in rows):
        return max(index for index, row in enumerate(rows) if row.is_head and all(one.is_head for one in rows[:index]))
    is_whole = len(filled[0]) == width and all(cell.columns == 1 for cell in rows[0].cells)
    return 0 if width > _PAIR and is_whole and names_columns(filled[0]) else None


def _filled(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the texts of each row by column: a cell that spans rows is in each of them."""
    above: list[str] = []
    spanning: dict[int, tuple[int, str]] = {}
    for row in rows:
        texts: list[str] = []
        for cell in row.cells:
            _span(texts, spanning)
            column = len(texts)
            text = above[column] if cell.continues and column < len(above) else _one_line(cell.text)
            if cell.rows > 1:
                spanning[column] = (cell.rows - 1, text)
            texts += [text, *[""] * (min(max(cell.columns, 1), MAX_COLUMNS_SPANNED) - 1)]
        _span(texts, spanning)
        above = texts
        yield texts


def _span(texts: list[str], spanning: dict[int, tuple[int, str]]) -> None:
    """Put in what reaches down from the rows above."""
    while (found := spanning.pop(len(texts), None)) is not None:
        left, text = found
        if left > 1:
            spanning[len(texts)] = (left - 1, text)
        texts.append(text)


def _named(names: Sequence[str], values: Sequence[str]) -> str:
    cells = []
    for index, value in enumerate(values):
        name = names[index] if index < len(names) else ""
        if value:
            cells.append(f"{name}: {value}" if name and len(name) <= MAX_NAME_CHARS else value)
    return "| " + " | ".join(cells) if cells else ""


def _plain(values: Sequence[str], *, is_pair: bool) -> str:
    cells = [value for value in values if value]
    if not cells:
        return ""
    if is_pair and len(cells) == _PAIR and len(cells[0]) <= MAX_NAME_CHARS:
        return f"| {cells[0].rstrip(':： ')}: {cells[1]}"
    return "| " + " | ".join(cells) if len(values) > 1 else cells[0]


def _one_line(text: str) -> str:
    text = text.strip()
    return _SPACES.sub(" ", text) if len(text) <= SHORT_CELL_CHARS else text
