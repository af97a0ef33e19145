"""Bytes into text: which encoding they are in, what of them is text at all, and which kind of text. Pure."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from charset_normalizer import from_bytes

# How much of a document is looked at to tell what it is.
HEAD_BYTES: Final = 64 * 1024
# One wrong byte in a long text costs one character, not the document.
MAX_BROKEN_SHARE: Final = 0.001
MAX_CONTROL_SHARE: Final = 0.01
SAMPLES: Final = 4
SAMPLE_BYTES: Final = 8 * 1024


class MediaType(StrEnum):
    """What a document is."""

    TEXT = "text/plain"
    MARKDOWN = "text/markdown"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and the encoding that its bytes were in."""

    text: str
    encoding: str


class NotTextError(Exception):
    """The bytes are no text in an encoding that is known. `reason` is one word of a closed list."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A NUL stands in UTF-16 alone, wherever a line ends. Without one UTF-16 is the last guess: the bytes of a line's end in
# GB18030 or Big5 are a letter in it.
_BYTEWISE: Final = ["gb18030", "big5", "cp1252"]
_PAIRWISE: Final = ["utf_16_le", "utf_16_be"]
_SIGNATURES: Final = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive (DOCX, XLSX and ODT are such)"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"),
    (b"{\\rtf", "an RTF file"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x1f\x8b", "compressed"),
    (b"7z\xbc\xaf", "compressed"),
    (b"\x7fELF", "a program"),
)
_HTML: Final = re.compile(
    rb"\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
# Possessive where two runs of blanks meet: a line of blanks must cost no more than its length.
_MARKDOWN: Final = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t]++\S|```|~~~)"  # a heading, a fence
    r"|\S[ \t]*+\n {0,3}(?:={3,}+|-{3,}+)[ \t]*+$"  # an underlined heading
    r"|^[ \t]*+\|?(?:[ \t]*+:?-{3,}+:?[ \t]*+\|)"  # the rule of a table
    r"|\[[^\[\]\n]++\]\((?:https?://|/|#|\.)[^()\s]*+\)",  # a link
    re.MULTILINE,
)


def decode(data: bytes) -> Decoded:
    """Return the text of a whole document. Raises NotTextError (`not_text`, `unknown_encoding`)."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _checked(_tolerant(data, encoding, allowed=1), encoding)
    text = _tolerant(data, "utf-8")
    if text is not None and "\x00" not in text:
        return _checked(text, "utf-8")
    guesses = [_PAIRWISE] if b"\x00" in data else [_BYTEWISE, _PAIRWISE]
    for candidates in guesses:
        for sample in _samples(data):
            best = from_bytes(sample, cp_isolation=candidates, enable_fallback=False).best()
            if best is not None:
                encoding = best.encoding.replace("_", "-")
                return _checked(_tolerant(data, encoding), encoding)
    raise NotTextError("not_text" if b"\x00" in data else "unknown_encoding")


def recognise(head: bytes, *, whole: bool) -> MediaType:
    """Return what a document is, from its first bytes and never from its name. `whole`: nothing comes after them.

    Raises NotTextError; its reason is then a sentence's end ("is a PDF").
    """
    for signature, name in _SIGNATURES:
        if head.startswith(signature):
            raise NotTextError(f"is {name}")
    if _HTML.match(head):
        raise NotTextError("is HTML")
    for cut in range(1 if whole else 4):  # a head may end inside a character
        try:
            return kind_of(decode(head[: len(head) - cut]).text)
        except NotTextError:
            continue
    raise NotTextError("isn't text in UTF-8, UTF-16, GB18030, Big5 or Windows-1252")


def kind_of(text: str) -> MediaType:
    """Return whether a text is written in markdown."""
    return MediaType.MARKDOWN if _MARKDOWN.search(text[:HEAD_BYTES]) else MediaType.TEXT


def _samples(data: bytes) -> Iterator[bytes]:
    """Yield the whole, then pieces between line ends: one wrong byte hides the encoding of the whole."""
    yield data
    step = len(data) // SAMPLES + 1
    for begin in range(0, len(data), step):
        start = data.find(b"\n", begin) + 1 if begin else 0
        end = data.rfind(b"\n", start, start + SAMPLE_BYTES)
        if start < end and (start or not begin):
            yield data[start:end]


def _tolerant(data: bytes, encoding: str, *, allowed: int = 0) -> str | None:
    """Decode, with U+FFFD for what is broken; None where too much is. `allowed` is never too much."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    written = data.decode(encoding, "ignore").count("�")
    broken = text.count("�") - written
    return text if broken <= max(allowed, len(text) * MAX_BROKEN_SHARE) else None


def _checked(text: str | None, encoding: str) -> Decoded:
    if text is None:
        raise NotTextError("unknown_encoding")
    if "\x00" in text or len(_CONTROLS.findall(text)) > len(text) * MAX_CONTROL_SHARE:
        raise NotTextError("not_text")
    return Decoded(text, encoding)
