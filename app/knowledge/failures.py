"""Why a document failed, as sentences for a person: in answers, and as a list in docs/problems.md."""

from collections.abc import Mapping
from typing import Final

from app.knowledge.model import Failure

FAILURE_TEXTS: Final[Mapping[Failure, str]] = {
    Failure.NOT_TEXT: "What is in the file is no text.",
    Failure.UNKNOWN_ENCODING: "The text is in none of UTF-8, UTF-16, GB18030, Big5 and Windows-1252.",
    Failure.NO_TEXT: "There is no text in the file: it is blank, or holds nothing but images.",
    Failure.ENCRYPTED: "The file opens with a password alone. Give it without one.",
    Failure.MALFORMED: "The file is broken: it isn't built as its format wants it.",
    Failure.MACROS: "The document holds macros. Save it without them, as DOCX.",
    Failure.UNSUPPORTED: "The archive is no DOCX; of those alone text is read.",
    Failure.UNPACKS_TOO_LARGE: "The file unpacks to more than is taken in.",
    Failure.TOO_MANY_PAGES: "The PDF has more pages than are read of one file. Split it.",
    Failure.TOO_MUCH_TEXT: "There is more text in the file than is taken in. Split it.",
    Failure.TOO_COMPLEX: "Reading the file takes more time or memory than a file may take.",
    Failure.QUOTA_EXCEEDED: "There is no room for so many passages. Delete documents, then retry.",
    Failure.GAVE_UP: "Ingestion was begun several times and never came to an end.",
}
_HEAD: Final = """
## Why a document fails

A document that was taken in and can't be read has the status `failed`, with a `reason`, and a `reason_text` for a
person. What it was to replace is found as before.

| reason | what it means |
|---|---|
"""


def failure_list_markdown() -> str:
    """Return the list as docs/problems.md shows it."""
    return _HEAD + "".join(f"| `{failure}` | {FAILURE_TEXTS[failure]} |\n" for failure in Failure)
