"""What a file is, by its content: never by its name, nor by what a client says of it. Pure."""

import re
from typing import Final

from app.infra.extraction.encodings import decode
from app.infra.extraction.model import MediaType, RefusedError
from app.infra.extraction.of_csv import delimiter_of

# How much of a document is looked at to tell what it is.
HEAD_BYTES: Final = 64 * 1024
# Some programs write a line of their own before the signature, and every reader looks so far.
PDF_WITHIN_BYTES: Final = 1024
_PDF: Final = b"%PDF-"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_SIGNATURES: Final = (
    (b"\xd0\xcf\x11\xe0", "an old Office file, or one with a password"),
    (b"{\\rtf", "an RTF file"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x1f\x8b", "compressed"),
    (b"7z\xbc\xaf", "compressed"),
    (b"Rar!\x1a\x07", "compressed"),
    (b"\x7fELF", "a program"),
)
# What an archive that is no DOCX begins with, where it says so in the name of its first entry.
_OTHER_ARCHIVES: Final = (
    (re.compile(rb"PK\x03\x04.{26}mimetypeapplication/", re.DOTALL), "an OpenDocument or EPUB file"),
    (re.compile(rb"PK\x03\x04.{26}(?:xl|ppt)/", re.DOTALL), "a spreadsheet or a presentation"),
    (re.compile(rb"PK\x03\x04.{26}META-INF/", re.DOTALL), "a program"),
)
_COMMENTS: Final = r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--(?:[^-]|-(?!->)){0,2000}+-->\s*){0,5}+"
_HTML: Final = re.compile(rf"{_COMMENTS}<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
# A page without its frame. Markdown may begin like this as well: then it has marks of its own.
_PIECE_OF_HTML: Final = re.compile(
    rf"{_COMMENTS}<(?:meta|title|link|style|script|div|p|h[1-6]|table|ul|ol|section|article|main|header|nav|span|font)\b"
    r"[^<>]{0,2000}>",
    re.IGNORECASE,
)
_END_TAG: Final = re.compile(r"</[a-z][a-z0-9]{0,20}\s*>", re.IGNORECASE)
# Possessive where two runs of blanks meet: a line of blanks must cost no more than its length.
_MARKDOWN: Final = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t]++\S|```|~~~)"  # a heading, a fence
    r"|\S[ \t]*+\n {0,3}(?:={3,}+|-{3,}+)[ \t]*+$"  # an underlined heading
    r"|^[ \t]*+\|?(?:[ \t]*+:?-{3,}+:?[ \t]*+\|)"  # the rule of a table
    r"|\[[^\[\]\n]++\]\((?:https?://|/|#|\.)[^()\s]*+\)",  # a link
    re.MULTILINE,
)


class UnknownKindError(Exception):
    """A file of a kind that isn't read; the message is the end of a sentence (`is an image`)."""


def recognise(head: bytes, *, whole: bool) -> MediaType:
    """Return what a document is, from its first bytes. `whole`: nothing comes after them. Raises UnknownKindError."""
    if _PDF in head[:PDF_WITHIN_BYTES]:
        return MediaType.PDF
    for form, name in _OTHER_ARCHIVES:
        if form.match(head):
            raise UnknownKindError(f"is {name}")
    if head.startswith(_ZIP):
        return MediaType.DOCX
    for signature, name in _SIGNATURES:
        if head.startswith(signature):
            raise UnknownKindError(f"is {name}")
    for cut in range(1 if whole else 4):  # a head may end inside a character
        try:
            text = decode(head[: len(head) - cut]).text
        except RefusedError:
            continue
        return _kind_of_file(text.removeprefix("\ufeff"), whole=whole)
    raise UnknownKindError("isn't text in UTF-8, UTF-16, GB18030, Big5 or Windows-1252")


def kind_of(text: str) -> MediaType:
    """Return whether a text is written in markdown."""
    return MediaType.MARKDOWN if _MARKDOWN.search(text[:HEAD_BYTES]) else MediaType.TEXT


def _kind_of_file(text: str, *, whole: bool) -> MediaType:
    if _HTML.match(text):
        return MediaType.HTML
    kind = kind_of(text)
    if kind is MediaType.MARKDOWN:
        return kind
    if _PIECE_OF_HTML.match(text) and _END_TAG.search(text):
        return MediaType.HTML
    return kind if delimiter_of(text, whole=whole) is None else MediaType.CSV
