"""Lines of archives as records, so many at a time: what isn't one is told with its line, and the rest goes on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ValidationError

from app.core.portability import BITE, Imported, ImportedFile
from app.infra.db.transaction import Transaction

BITE_BYTES: Final = 2 * 1024 * 1024
# Versions of one item stand together in a bite, up to so many.
MAX_ITEM_LINES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line that was read: its record, or why it is none. `item` is what it is a version of."""

    number: int
    id: str | None
    item: str | None
    record: BaseModel | None
    size_bytes: int
    reason: str = ""


def bites(
    lines: Iterator[tuple[int, bytes | None]], kind: Imported[Transaction] | ImportedFile
) -> Iterator[list[Parsed]]:
    """Yield lines, so many together; the versions of an item aren't torn apart. Blocks, for it parses."""
    bite: list[Parsed] = []
    size_bytes = of_item = 0
    for number, line in lines:
        parsed = _parsed(number, line, kind)
        is_same = bool(bite) and parsed.item is not None and parsed.item == bite[-1].item
        of_item = of_item + 1 if is_same else 1
        is_full = len(bite) >= BITE or size_bytes >= BITE_BYTES
        # A line that became several records is taken whole: the next bite begins after its number.
        is_next = bool(bite) and number != bite[-1].number
        if is_full and is_next and (not is_same or of_item > MAX_ITEM_LINES):
            yield bite
            bite, size_bytes = [], 0
        bite.append(parsed)
        size_bytes += parsed.size_bytes
    if bite:
        yield bite


def _parsed(number: int, line: bytes | None, kind: Imported[Transaction] | ImportedFile) -> Parsed:
    if line is None:
        return Parsed(number, None, None, None, 0, "too_long")
    model: type[BaseModel] = kind.record
    try:
        # What came is masked by this, and held to the bounds of requests.
        record = model.model_validate_json(line)
    except (ValidationError, RecursionError):
        return Parsed(number, None, None, None, len(line), "invalid")
    item = None if isinstance(kind, ImportedFile) else kind.item(record)
    return Parsed(number, getattr(record, "id", None), item, record, len(line))
