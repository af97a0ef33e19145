"""A zip that is given away as it is written: beside the list of its files nothing of it is held.

The standard library writes to what can't be rewound, with the sizes behind each file; nothing more is needed for it.
"""

import asyncio
import hashlib
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

from app.core.portability import ArchiveFile
from app.portability.manifest import FileRecord

LINES: Final = ".jsonl"
# Packing more than this takes milliseconds: it is done beside the event loop.
INLINE_BYTES: Final = 16 * 1024
# What is given away at once is about so large.
CHUNK_BYTES: Final = 64 * 1024
_LEVEL: Final = 6
_PRIVATE: Final = 0o600 << 16


class _Outlet:
    """Takes what the zip writes, until it is fetched. It can't be rewound."""

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        self._written.append(bytes(data))
        self.size_bytes += len(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def fetch(self) -> bytes:
        written = b"".join(self._written)
        self._written, self.size_bytes = [], 0
        return written


class Zip:
    """One archive. `files` are those that were written whole."""

    def __init__(self, at: datetime) -> None:
        """Begin an archive whose files bear a time."""
        self._outlet = _Outlet()
        self._zip = zipfile.ZipFile(self._outlet, "w", compresslevel=_LEVEL)
        self._at = at.astimezone(UTC).timetuple()[:6]
        self.files: list[FileRecord] = []

    async def add(self, file: ArchiveFile) -> AsyncIterator[bytes]:
        """Write a file; yield what there is of the archive meanwhile."""
        info = zipfile.ZipInfo(file.path, self._at)
        info.compress_type = zipfile.ZIP_STORED if file.is_packed else zipfile.ZIP_DEFLATED
        info.external_attr = _PRIVATE
        digest, size_bytes, lines = hashlib.sha256(), 0, 0
        # Nobody knows the size of a file before its end: each is written so that it may be a large one.
        with self._zip.open(info, "w", force_zip64=True) as member:
            async for part in file.parts:
                digest.update(part)
                size_bytes += len(part)
                lines += part.count(b"\n")
                if len(part) > INLINE_BYTES:
                    await asyncio.to_thread(member.write, part)
                else:
                    member.write(part)
                if self._outlet.size_bytes >= CHUNK_BYTES:
                    yield self._outlet.fetch()
        records = lines if file.path.endswith(LINES) else None
        self.files.append(
            FileRecord.kept(path=file.path, records=records, size_bytes=size_bytes, sha256=digest.hexdigest()),
        )

    def close(self) -> bytes:
        """End the archive; return the rest of it."""
        self._zip.close()
        return self._outlet.fetch()
