"""Reads files: each in a process of its own, with limits, that is killed when it is done or takes too much.

The bytes go to it through a pipe, part by part, and the text comes back through another: neither stands in a file. What
the process says of an error goes nowhere, for it may quote the file.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import structlog

from app.infra.extraction.model import (
    READY,
    Extracted,
    Heading,
    Layout,
    Limits,
    MediaType,
    Refusal,
    RefusedError,
)
from app.infra.extraction.reading import read

MODULE: Final = "app.infra.extraction.child"
ROOT: Final = Path(__file__).parents[3]
SLOTS: Final = 2
READ_BYTES: Final = 256 * 1024
MAX_HEADER_BYTES: Final = 64 * 1024 * 1024
WATCH_S: Final = 0.25
# A text of no more bytes is read here: that takes less time than a process does, and nothing but a decoder sees it.
IN_PROCESS_BYTES: Final = 1024 * 1024
_TEXTS: Final = frozenset({MediaType.TEXT, MediaType.MARKDOWN})

log = structlog.get_logger("cairn.extraction")


class ExtractionUnavailableError(Exception):
    """The process that reads files couldn't be started: no fault of the file's."""


class Extractor:
    """Reads files, a few at a time."""

    def __init__(self, limits: Limits | None = None, slots: int = SLOTS) -> None:
        """Take what one file may take, and how many are read at a time: their memory adds up."""
        self._limits = limits or Limits()
        self._slots = asyncio.Semaphore(slots)

    async def extract(self, media_type: MediaType, size_bytes: int, parts: AsyncIterator[bytes]) -> Extracted:
        """Return the text of a file. Raises RefusedError, ExtractionUnavailableError, and what `parts` raises."""
        if media_type in _TEXTS and size_bytes <= IN_PROCESS_BYTES:
            data = b"".join([part async for part in parts])
            return await asyncio.to_thread(read, media_type, data, self._limits)
        async with self._slots:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-s", "-P", "-B", "-X", "utf8", "-m", MODULE),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PYTHONPATH": str(ROOT)},
                cwd="/",
                start_new_session=True,
            )
            watching = asyncio.create_task(_watch(process, self._limits.memory_bytes))
            try:
                async with asyncio.timeout(self._limits.wall_s):
                    output = await self._converse(process, media_type, parts)
            except TimeoutError:
                output = None
            finally:
                watching.cancel()
                await _end(process)
        return _understood(output, process.returncode)

    async def _converse(
        self,
        process: asyncio.subprocess.Process,
        media_type: MediaType,
        parts: AsyncIterator[bytes],
    ) -> bytes | None:
        """Give the file to the process and return what it says, None where that is more than it may be."""
        if process.stdin is None or process.stdout is None:  # they are asked for
            raise ExtractionUnavailableError
        order = {"media_type": media_type, "limits": asdict(self._limits), "parent": os.getpid()}
        # Whoever is dead or doesn't listen any more is understood by how it ended.
        with contextlib.suppress(ConnectionError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            async for part in parts:
                process.stdin.write(part)
                await process.stdin.drain()
            process.stdin.close()
        output = bytearray()
        while data := await process.stdout.read(READ_BYTES):
            output += data
            if len(output) > 2 * self._limits.text_bytes + MAX_HEADER_BYTES:
                return None
        await process.wait()
        return bytes(output)


async def _watch(process: asyncio.subprocess.Process, memory_bytes: int) -> None:
    """Kill what takes too much memory: the only bound where the system has none, and a second one elsewhere."""
    import psutil  # noqa: PLC0415 - the API has this module and never reads a file

    with contextlib.suppress(psutil.Error, ProcessLookupError):
        watched = psutil.Process(process.pid)
        while True:
            await asyncio.sleep(WATCH_S)
            if watched.memory_info().rss > memory_bytes:
                process.kill()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process, if it still is one, and wait until it is gone."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await asyncio.shield(process.wait())


def _understood(output: bytes | None, code: int | None) -> Extracted:
    """Return what the process said, or what it means that it ended without a word."""
    if output is not None and not output.startswith(READY):
        log.error("extraction_not_started", exit_code=code)
        raise ExtractionUnavailableError
    if output is None or (code is not None and code < 0):
        log.info("extraction_killed", signal=None if code is None else -code)
        raise RefusedError(Refusal.TOO_COMPLEX)
    header, _, text = output.removeprefix(READY).partition(b"\n")
    if code != 0 or not header:
        raise RefusedError(Refusal.MALFORMED)
    return _read(json.loads(header), text)


def _read(said: dict[str, Any], text: bytes) -> Extracted:  # Any: JSON
    if "refused" in said:
        raise RefusedError(Refusal(said["refused"]))
    layout = said["layout"]
    headings = tuple(Heading(**heading) for heading in layout["headings"])
    end = said["text_bytes"]
    return Extracted(
        text[:end].decode(), said["encoding"], Layout(headings, tuple(layout["pages"])), aside=text[end:].decode()
    )
