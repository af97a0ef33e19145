"""The parts of a DOCX: an archive that is opened with care, and its XML read as it is unpacked.

What Word itself never writes is refused before anything is unpacked: a document type with entities, a password, macros.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from posixpath import join, normpath
from typing import Final
from xml.parsers import expat

from app.infra.extraction.model import Limits, Refusal, RefusedError

MAX_ENTRIES: Final = 10_000
MAX_DEPTH: Final = 1_000
READ_BYTES: Final = 256 * 1024
_ENCRYPTED_FLAG: Final = 0x1
_MAIN: Final = re.compile(r"application/vnd\.(?:openxmlformats-officedocument|ms-word)[\w.-]*\.document[\w.-]*\+xml")
_OFFICE_DOCUMENT: Final = "/officeDocument"
# The namespaces of WordprocessingML and its kin, in both editions of the standard: names are compared without them.
_NAMESPACES: Final = re.compile(
    r"http://(?:schemas\.openxmlformats\.org|purl\.oclc\.org/ooxml|schemas\.microsoft\.com/office)/\S* "
)
Attributes = Mapping[str, str]
Start = Callable[[str, Attributes], None]


class Package:
    """An opened DOCX."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        """Look at what is in the archive. Raises RefusedError for what is no DOCX or must not be unpacked."""
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise RefusedError(Refusal.MALFORMED) from error
        self._check(self._archive.infolist(), limits)
        names = {name.lower(): name for name in self._archive.namelist()}
        self._names = names
        if "[content_types].xml" not in names:
            raise RefusedError(Refusal.UNSUPPORTED)
        self.types = self._types()
        self.main = self._main()

    def has(self, name: str) -> bool:
        """Return whether there is a part of this name."""
        return name.lower() in self._names

    def parse(self, name: str, start: Start, end: Callable[[str], None], text: Callable[[str], None]) -> None:
        """Read a part; names of elements and attributes come without their namespace."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        depth = 0

        def opened(tag: str, given: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > MAX_DEPTH:
                raise RefusedError(Refusal.TOO_COMPLEX)
            start(_NAMESPACES.sub("", tag), {_NAMESPACES.sub("", name): value for name, value in given.items()})

        def closed(tag: str) -> None:
            nonlocal depth
            depth -= 1
            end(_NAMESPACES.sub("", tag))

        parser.StartElementHandler, parser.EndElementHandler = opened, closed
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, _refuse_doctype
        try:
            with self._archive.open(self._names[name.lower()]) as part:
                while data := part.read(READ_BYTES):
                    parser.Parse(data, False)
                parser.Parse(b"", True)
        except (zipfile.BadZipFile, expat.ExpatError, zlib.error, EOFError, NotImplementedError, OSError) as error:
            raise RefusedError(Refusal.MALFORMED) from error

    def related(self, kind: str) -> list[str]:
        """Return the parts that the main one names as of this kind (`styles`, `footnotes`)."""
        folder, _, file = self.main.rpartition("/")
        return [
            target
            for type_, target in self._relations(f"{folder}/_rels/{file}.rels", folder)
            if type_.endswith(f"/{kind}")
        ]

    def _check(self, entries: list[zipfile.ZipInfo], limits: Limits) -> None:
        if any(entry.flag_bits & _ENCRYPTED_FLAG for entry in entries):
            raise RefusedError(Refusal.ENCRYPTED)
        # What an entry says of its size is what is read of it at most.
        if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > limits.unpacked_bytes:
            raise RefusedError(Refusal.UNPACKS_TOO_LARGE)
        if any(entry.filename.lower().endswith("vbaproject.bin") for entry in entries):
            raise RefusedError(Refusal.MACROS)

    def _types(self) -> dict[str, str]:
        types: dict[str, str] = {}

        def start(tag: str, given: Attributes) -> None:
            if tag.endswith("Override"):
                types[given.get("PartName", "").lstrip("/").lower()] = given.get("ContentType", "")

        self.parse("[content_types].xml", start, _nothing, _nothing)
        if any("macroenabled" in kind.lower() for kind in types.values()):
            raise RefusedError(Refusal.MACROS)
        return types

    def _main(self) -> str:
        for kind, target in self._relations("_rels/.rels", ""):
            if kind.endswith(_OFFICE_DOCUMENT) and self.has(target):
                if not _MAIN.match(self.types.get(target.lower(), "")) and not self.has("word/document.xml"):
                    raise RefusedError(Refusal.UNSUPPORTED)
                return target
        if self.has("word/document.xml"):
            return "word/document.xml"
        raise RefusedError(Refusal.UNSUPPORTED)

    def _relations(self, name: str, folder: str) -> list[tuple[str, str]]:
        """Return kind and target of each relation to a part that is there; others (`NULL`, an address) are left out."""
        found: list[tuple[str, str]] = []

        def start(tag: str, given: Attributes) -> None:
            if tag.endswith("Relationship") and given.get("TargetMode") != "External":
                target = given.get("Target", "")
                path = normpath(target.lstrip("/") if target.startswith("/") else join(folder, target))
                if self.has(path):
                    found.append((given.get("Type", ""), path))

        if self.has(name):
            self.parse(name, start, _nothing, _nothing)
        return found


def _refuse_doctype(*_: object) -> None:
    raise RefusedError(Refusal.MALFORMED)


def _nothing(_: str) -> None:
    pass
