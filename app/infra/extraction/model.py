"""What files are, what is read out of them, and why one is refused."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# What the process that reads a file says first.
READY: Final = b"ready\n"


class MediaType(StrEnum):
    """What a document is."""

    TEXT = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    CSV = "text/csv"
    PDF = "application/pdf"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


class Refusal(StrEnum):
    """Why no text can be read out of a file: the whole list."""

    NOT_TEXT = "not_text"
    UNKNOWN_ENCODING = "unknown_encoding"
    NO_TEXT = "no_text"
    ENCRYPTED = "encrypted"
    MALFORMED = "malformed"
    MACROS = "macros"
    UNSUPPORTED = "unsupported"
    UNPACKS_TOO_LARGE = "unpacks_too_large"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_MUCH_TEXT = "too_much_text"
    TOO_COMPLEX = "too_complex"


class RefusedError(Exception):
    """No text is read out of this file."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Heading:
    """The characters from `start` up to `end` are a heading, the line's end included; 1 is the highest level."""

    start: int
    end: int
    level: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What the file said of its text beside the words: the headings, and where each page begins."""

    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()


NO_LAYOUT = Layout()


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file, whole. `encoding` is None where the file's format says it.

    `aside` is what the file holds beside it (comments, what was deleted): nobody finds it, and it may hold a
    number that is never stored.
    """

    text: str
    encoding: str | None = None
    layout: Layout = NO_LAYOUT
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take. Past these it is refused, never cut."""

    memory_bytes: int = 1024 * 1024 * 1024
    cpu_s: int = 120
    wall_s: float = 300.0
    text_bytes: int = 100 * 1024 * 1024
    unpacked_bytes: int = 400 * 1024 * 1024
    pages: int = 2_000
