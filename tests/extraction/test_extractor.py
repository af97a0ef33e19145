"""The process that reads a file: bounded, killed, buried, silent; and what isn't the file's fault is told apart."""

import asyncio
import os
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.infra.extraction import extractor as module
from app.infra.extraction.extractor import ExtractionUnavailableError, Extractor
from app.infra.extraction.model import Limits, MediaType, Refusal, RefusedError
from tests.conftest import eventually
from tests.extraction.files import docx, paragraph, pdf
from tests.extraction.nasty import MIB
from tests.extraction.test_nasty import LARGE, LIMITS, answer, in_parts, own_children

SLOW = b"<html>" + b"<!" * 500_000  # cpython 135462: html.parser takes minutes for it
WORDS = b"<html><p>" + b"All work and no play. " * (MIB // 4)


async def has_begun() -> bool:
    return bool(own_children())


async def test_what_takes_more_memory_than_it_may_is_killed() -> None:
    assert (
        await answer(MediaType.HTML, WORDS, replace(LIMITS, memory_bytes=80 * MIB, text_bytes=64 * MIB))
        is Refusal.TOO_COMPLEX
    )


async def test_what_takes_more_memory_is_killed_where_the_system_has_no_limit_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MacOS has none. Here the process is told that it may have as much as it likes, and is watched for less."""
    monkeypatch.setattr(module, "WATCH_S", 0.01)
    extractor = Extractor(replace(LIMITS, text_bytes=64 * MIB))
    monkeypatch.setattr(module, "_watch", lambda process, _: WATCH(process, 40 * MIB))
    with pytest.raises(RefusedError, match="too_complex"):
        await extractor.extract(MediaType.HTML, LARGE, in_parts(WORDS))
    assert own_children() == []


WATCH = module._watch  # noqa: SLF001 - what is put in its place above calls it


async def test_what_takes_longer_than_it_may_is_killed() -> None:
    assert await answer(MediaType.HTML, SLOW, replace(LIMITS, wall_s=0.5)) is Refusal.TOO_COMPLEX
    assert own_children() == []


async def test_what_computes_longer_than_it_may_is_killed() -> None:
    assert await answer(MediaType.HTML, SLOW, replace(LIMITS, cpu_s=1)) is Refusal.TOO_COMPLEX
    assert own_children() == []


async def test_a_reading_that_nobody_waits_for_any_more_is_killed() -> None:
    waiting = asyncio.create_task(answer(MediaType.HTML, SLOW))
    await eventually(has_begun)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert own_children() == []


async def test_bytes_that_stop_coming_end_the_process() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"<html>"
        raise LookupError

    with pytest.raises(LookupError):
        await Extractor(LIMITS).extract(MediaType.HTML, LARGE, broken())
    assert own_children() == []


async def test_a_process_that_does_not_start_is_no_fault_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MODULE", "app.infra.extraction.no_such_module")
    with pytest.raises(ExtractionUnavailableError):
        await Extractor(LIMITS).extract(MediaType.PDF, LARGE, in_parts(pdf([["text"]])))


async def test_many_files_at_once_each_get_their_own_text() -> None:
    extractor = Extractor(Limits())
    files = [(MediaType.DOCX, docx(paragraph(f"number {number}"))) for number in range(6)]
    found = await asyncio.gather(*(extractor.extract(kind, LARGE, in_parts(data)) for kind, data in files))
    assert [each.text.strip() for each in found] == [f"number {number}" for number in range(6)]


async def test_the_file_is_given_part_by_part_and_never_held_whole() -> None:
    """What this process holds of 40 MiB while it gives them away: a part or two, and what a pipe takes."""

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield os.urandom(MIB)

    tracemalloc.start()
    try:
        with pytest.raises(RefusedError, match="malformed"):
            await Extractor(LIMITS).extract(MediaType.DOCX, LARGE, parts())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * MIB


async def test_nothing_of_the_environment_reaches_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_MASTER_KEY", "k1:secret")
    waiting = asyncio.create_task(answer(MediaType.HTML, SLOW))
    await eventually(has_begun)
    (child,) = own_children()
    assert "CAIRN_MASTER_KEY" in os.environ
    assert set(child.environ()) <= {"PYTHONPATH", "LC_CTYPE"}
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
