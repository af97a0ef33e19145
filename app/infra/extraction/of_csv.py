"""The text of a CSV file: a line for each row, the names of the columns in each."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from app.infra.extraction.builder import TextBuilder
from app.infra.extraction.grids import named_row, names_columns, plain_row

DELIMITERS: Final = ",;\t|"
# Rows that are looked at to tell whether a text is a table, and the share of them that must have the same columns.
SAMPLE_ROWS: Final = 200
MIN_ROWS: Final = 2
ALIKE_SHARE: Final = 0.9
# Prose has a space after its commas.
MAX_SPACED_SHARE: Final = 0.5
# The module's own limit of 128 KiB would refuse a long cell. What bounds one is the size of the file.
MAX_CELL_CHARS: Final = 2**31 - 1


def delimiter_of(text: str, *, whole: bool) -> str | None:
    """Return what separates the cells of a text that is a table, None for another text. `whole`: nothing follows it."""
    for delimiter in DELIMITERS:
        rows = _sample(text, delimiter, whole=whole)
        if len(rows) >= MIN_ROWS and _is_table(rows, delimiter):
            return delimiter
    return None


def add_csv(builder: TextBuilder, text: str) -> None:
    """Add the rows of a whole file."""
    text = text.removeprefix("\ufeff")
    delimiter = delimiter_of(text[: 64 * 1024], whole=len(text) <= 64 * 1024) or ","
    rows = _rows(text, delimiter)
    first = next(rows, None)
    if first is None:
        return
    is_named = names_columns(first)
    builder.lines(plain_row(first))
    for row in rows:
        builder.lines(named_row(first, row) if is_named else plain_row(row))


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_CELL_CHARS)
    return (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(row))


def _sample(text: str, delimiter: str, *, whole: bool) -> Sequence[Sequence[str]]:
    rows = []
    for row in _rows(text, delimiter):
        rows.append(row)
        if len(rows) > SAMPLE_ROWS:
            return rows[:SAMPLE_ROWS]
    return rows if whole else rows[:-1]  # the last one may go on


def _is_table(rows: Sequence[Sequence[str]], delimiter: str) -> bool:
    columns, number = Counter(len(row) for row in rows).most_common(1)[0]
    if columns < MIN_ROWS or number < len(rows) * ALIKE_SHARE or not names_columns_or_values(rows[0]):
        return False
    following = [cell for row in rows for cell in row[1:]]
    spaced = sum(cell.startswith(" ") for cell in following)
    return delimiter != "," or spaced <= len(following) * MAX_SPACED_SHARE


def names_columns_or_values(row: Sequence[str]) -> bool:
    """Return whether a first row may be one of a table: no cell of it is a sentence or a stretch of prose."""
    return names_columns(row) or all(any(character.isdigit() for character in cell) for cell in row if cell.strip())
