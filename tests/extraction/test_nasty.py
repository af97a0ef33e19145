"""Files that nobody should have to read: each gets its answer, in bounded time and memory, and no process is left."""

from collections.abc import AsyncIterator, Callable
from typing import Final

import psutil
import pytest

from app.infra.extraction.extractor import Extractor
from app.infra.extraction.model import Extracted, Limits, MediaType, Refusal, RefusedError
from tests.extraction.nasty import ANY, DOCX_FILES, MIB, OTHERS, PDFS, Expected

LIMITS: Final = Limits(
    memory_bytes=512 * MIB, cpu_s=60, wall_s=100, text_bytes=3 * MIB, unpacked_bytes=64 * MIB, pages=200
)
LARGE: Final = 2 * MIB  # what is said to be of so many bytes is read in a process of its own
CASES: Final = [
    *(pytest.param(MediaType.PDF, *case, id=f"PDF: {name}") for name, case in PDFS.items()),
    *(pytest.param(MediaType.DOCX, *case, id=f"DOCX: {name}") for name, case in DOCX_FILES.items()),
    *(pytest.param(*case, id=name) for name, case in OTHERS.items()),
]


async def in_parts(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), MIB):
        yield data[start : start + MIB]


async def answer(media_type: MediaType, data: bytes, limits: Limits = LIMITS) -> Extracted | Refusal:
    try:
        return await Extractor(limits).extract(media_type, LARGE, in_parts(data))
    except RefusedError as error:
        return error.reason


def own_children() -> list[psutil.Process]:
    """Return the processes of this one that read a file, those that are dead and not yet buried included."""
    found = []
    for child in psutil.Process().children():
        try:
            if child.status() == psutil.STATUS_ZOMBIE or "app.infra.extraction.child" in child.cmdline():
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.mark.parametrize(("media_type", "make", "expected"), CASES)
async def test_a_nasty_file_gets_its_answer(
    media_type: MediaType, make: Callable[[], bytes], expected: Expected
) -> None:
    found = await answer(media_type, make())
    if isinstance(expected, Refusal):
        assert found is expected
    elif expected != ANY:
        assert isinstance(found, Extracted)
        assert expected in found.text
    assert own_children() == []
