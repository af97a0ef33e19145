"""Reads a form with one file as it streams in: nothing of the file is held, nothing is written to a disk.

Not Starlette's form: that one spools files to temporary files, in the clear.
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from app.core.errors import AppError, invalid

MEDIA_TYPE: Final = "multipart/form-data"
FILE_FIELD: Final = "file"
MAX_FIELDS: Final = 16
MAX_FIELD_BYTES: Final = 64 * 1024

Sink = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class Form:
    """What the form said beside the file. `digest` stands for all of it, the file's bytes included."""

    fields: dict[str, str]
    file_name: str | None
    digest: bytes


@dataclass(slots=True)
class _Part:
    """A part that is being read: its headers, then its bytes."""

    headers: dict[str, bytes] = field(default_factory=dict)
    name: str = ""
    file_name: str | None = None
    value: bytearray = field(default_factory=bytearray)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except FormParserError:
        raise invalid("body", "isn't a form in multipart/form-data") from None


class _Reader:
    """Collects what python-multipart calls back with: it calls while it parses, where nothing can be awaited."""

    def __init__(self, boundary: bytes) -> None:
        self.fields: dict[str, bytes] = {}
        self.file_name: str | None = None
        self.file_data: list[bytes] = []
        self.has_file = False
        self.is_complete = False
        self._part = _Part()
        self._header = b""
        self._header_value = b""
        with _refusing():  # a boundary that is too long
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._add_header_name,
                    "on_header_value": self._add_header_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._end_headers,
                    "on_part_data": self._add_data,
                    "on_part_end": self._end,
                    "on_end": self._complete,
                },
            )

    def read(self, data: bytes) -> list[bytes]:
        """Parse some bytes of the body; return what of the file was in them."""
        with _refusing():
            self._parser.write(data)
        file_data, self.file_data = self.file_data, []
        return file_data

    def _begin(self) -> None:
        self._part = _Part()

    def _add_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _end_header(self) -> None:
        self._part.headers[self._header.decode("latin-1").lower()] = self._header_value
        self._header = self._header_value = b""

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._part.headers.get("content-disposition", b""))
        self._part.name = options.get(b"name", b"").decode("utf-8", "replace")
        if self._part.name == FILE_FIELD:
            if self.has_file:
                raise invalid(FILE_FIELD, "must come once")
            self.has_file = True
            self.file_name = _file_name(options.get(b"filename"))
        elif len(self.fields) >= MAX_FIELDS:
            raise invalid("body", f"must hold at most {MAX_FIELDS} fields")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._part.name == FILE_FIELD:
            self.file_data.append(data[start:end])
            return
        self._part.value += data[start:end]
        if len(self._part.value) > MAX_FIELD_BYTES:
            raise AppError("too_large", f"a field beside the file may have {MAX_FIELD_BYTES} bytes")

    def _end(self) -> None:
        name = self._part.name
        if name == FILE_FIELD:
            return
        if name in self.fields:
            raise invalid("body", "must hold each field once")
        self.fields[name] = bytes(self._part.value)

    def _complete(self) -> None:
        self.is_complete = True


async def read_form(content_type: str, body: AsyncIterator[bytes], sink: Sink) -> Form:
    """Read a form to its end; the file goes to `sink` as it comes.

    Raises `unsupported_media_type` for another content type, `invalid` for a form that is broken off or has no file.
    """
    reader = _Reader(_boundary(content_type))
    file_digest = hashlib.sha256()
    async for data in body:
        for piece in reader.read(data):
            file_digest.update(piece)
            await sink(piece)
    if not reader.is_complete:
        raise invalid("body", "isn't a form in multipart/form-data")
    if not reader.has_file:
        raise invalid(FILE_FIELD, "is required")
    named = sorted(reader.fields.items())
    parts = [file_digest.digest(), (reader.file_name or "").encode(), *(part for pair in named for part in _pair(pair))]
    digest = hashlib.sha256(b"".join(len(part).to_bytes(8) + part for part in parts))
    return Form({name: _text(name, value) for name, value in named}, reader.file_name, digest.digest())


def _boundary(content_type: str) -> bytes:
    media_type, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if media_type.decode("latin-1") != MEDIA_TYPE or not boundary:
        raise AppError("unsupported_media_type", f"the body must be {MEDIA_TYPE}", headers={"Accept-Post": MEDIA_TYPE})
    return boundary


def _pair(pair: tuple[str, bytes]) -> tuple[bytes, bytes]:
    name, value = pair
    return name.encode(), value


def _text(name: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise invalid(name if name.isidentifier() else "body", "must be UTF-8") from None


def _file_name(given: bytes | None) -> str | None:
    """Return the last part of the name, whichever way the client's system writes paths."""
    if not given:
        return None
    name = given.decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
    return name.replace("\x00", "") or None
