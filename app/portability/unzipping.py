"""Archives, read where they were received: part by part, into nothing that anybody could read later.

What is hostile in one is bounded: how much is read at once, how much comes out of it, how long a line is. Names of
files lead nowhere: those are read that an archive must have, and nothing is written by its name.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from pydantic import ValidationError

from app.portability import manifest
from app.portability.manifest import Manifest
from app.portability.model import PART_BYTES, Failure, UnreadableError

# The list of an archive's files is read at once; so large is one of 20,000 documents.
MAX_READ_BYTES: Final = 8 * 1024 * 1024
MAX_FILES: Final = 50_000
MAX_MANIFEST_BYTES: Final = 8 * 1024 * 1024
MAX_LINE_BYTES: Final = 4 * 1024 * 1024
CHUNK_BYTES: Final = 256 * 1024
# What comes out of an archive may be so many times as large as the largest that is received.
MAX_RATIO: Final = 8
MAX_COUNT: Final = 2**53
# What an archive has and no import takes: it tells what another installation did.
NOT_TAKEN: Final = ("contexts", "marks", "usage", "registered_secrets", "audit")
_KNOWN_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED: Final = 0x1

Fetch = Callable[[int], bytes]


class Lines(Protocol):
    """What an import reads: files of JSON lines, and files that these name."""

    left_out: dict[str, int]

    def lines(self, file: str, after: int) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines of a file with their numbers, from 1, those after a line; None for one that is too long."""
        ...

    def parts(self, path: str) -> Iterator[bytes] | None:
        """Return the bytes of a file, None where there is none."""
        ...


class PartsFile(io.RawIOBase):
    """The parts that were received, as one file that can be rewound. Blocks: it is read in a thread."""

    def __init__(self, size_bytes: int, fetch: Fetch) -> None:
        """Take how large it is, and what gives a part by its number."""
        self._size_bytes = size_bytes
        self._fetch = fetch
        self._at = 0
        self._number, self._part = -1, b""

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be rewound."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size_bytes}[whence]
        if begin + offset < 0:
            raise OSError("before the beginning")
        self._at = begin + offset
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override] # what BufferedReader gives
        """Read what there is of one part."""
        number, offset = divmod(self._at, PART_BYTES)
        if self._at >= self._size_bytes:
            return 0
        if number != self._number:
            self._number, self._part = number, self._fetch(number)
        data = self._part[offset : offset + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Bounded(io.BufferedReader):
    """Reads no more at once than the list of the largest archive takes, whatever its header says."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_READ_BYTES:
            raise UnreadableError(Failure.TOO_MANY_FILES)
        return super().read(size)


class Archive:
    """An archive of this product's. Blocks."""

    def __init__(self, size_bytes: int, fetch: Fetch, most_bytes: int) -> None:
        """Open it; `most_bytes` may come out of it in all. Raises UnreadableError."""
        self._left_bytes = most_bytes
        with _reading():
            self._zip = zipfile.ZipFile(_Bounded(PartsFile(size_bytes, fetch), PART_BYTES))
        self._files = {info.filename: info for info in self._zip.infolist()}
        if len(self._zip.infolist()) > MAX_FILES:
            raise UnreadableError(Failure.TOO_MANY_FILES)
        known = all(
            info.compress_type in _KNOWN_METHODS and not info.flag_bits & _ENCRYPTED for info in self._files.values()
        )
        if not known or len(self._files) != len(self._zip.infolist()):
            raise UnreadableError(Failure.MALFORMED)
        self.manifest = self._manifest()
        # Names that somebody has put there are nobody's to keep.
        self.left_out = {name: min(self.manifest.counts.get(name, 0), MAX_COUNT) for name in NOT_TAKEN}

    def lines(self, file: str, after: int) -> Iterator[tuple[int, bytes | None]]:
        """Yield lines as `Lines`."""
        info = self._files.get(file)
        if info is None:
            return
        with _reading(), self._zip.open(info) as member:
            number = 0
            while line := member.readline(MAX_LINE_BYTES + 1):
                self._take(len(line))
                number += 1
                is_whole = len(line) <= MAX_LINE_BYTES
                rest = line
                while not rest.endswith(b"\n") and (rest := member.readline(CHUNK_BYTES)):
                    self._take(len(rest))
                if number > after:
                    yield number, line if is_whole else None

    def parts(self, path: str) -> Iterator[bytes] | None:
        """Return bytes as `Lines`."""
        info = self._files.get(path)
        return None if info is None else self._parts(info)

    def _parts(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        with _reading(), self._zip.open(info) as member:
            while chunk := member.read(CHUNK_BYTES):
                self._take(len(chunk))
                yield chunk

    def _manifest(self) -> Manifest:
        """Return what the archive says of itself. Raises UnreadableError for one that broke off, or is of later."""
        info = self._files.get(manifest.FILE)
        if info is None:
            raise UnreadableError(Failure.INCOMPLETE)
        with _reading(), self._zip.open(info) as member:
            text = member.read(MAX_MANIFEST_BYTES + 1)
        try:
            said = json.loads(text)
            version = said.get("format_version") if isinstance(said, dict) else None
            if isinstance(version, int) and version > manifest.FORMAT_VERSION:
                raise UnreadableError(Failure.UNSUPPORTED_VERSION)
            return Manifest.model_validate(said)
        except (ValueError, RecursionError, ValidationError):
            raise UnreadableError(Failure.MALFORMED) from None

    def _take(self, size_bytes: int) -> None:
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            raise UnreadableError(Failure.UNPACKS_TOO_LARGE)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        ValueError,
        OverflowError,
        KeyError,
    ) as error:
        raise UnreadableError(Failure.MALFORMED) from error
