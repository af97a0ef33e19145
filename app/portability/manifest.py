"""The manifest of an archive: what is in it, as of when, and how to tell that all of it is there."""

import hashlib
import hmac
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Final, Literal

from pydantic import Field

from app.web.records import Record
from app.web.wire import Moment

FILE: Final = "manifest.json"
FORMAT: Final = "cairn-export"
FORMAT_VERSION: Final = 1
_SALT_BYTES: Final = 16


class FileRecord(Record):
    """A file of the archive. `records` are its lines, null where it has none."""

    path: str
    records: int | None
    size_bytes: int
    sha256: str


class SubjectRecord(Record):
    """Whose archive it is: SHA-256 of the salt, in bytes, and the user's `sub` in UTF-8. In hexadecimal digits.

    An import by somebody else takes nothing of it as that person's own word.
    """

    salt: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(Record):
    """The last file of an archive: one without it broke off. `files` are all others, in their order."""

    format: Literal["cairn-export"]
    format_version: Annotated[int, Field(ge=1)]
    product_version: str
    exported_at: Moment
    snapshot: str = Field(description="User memory was at this snapshot; all files show one state.")
    user_id: str
    subject: SubjectRecord | None = Field(description="Null where an operator made the export.")
    counts: dict[str, int] = Field(description="Records by file.")
    left_out: dict[str, str] = Field(description="What of the user's data isn't here, and why.")
    files: list[FileRecord]


def product_version() -> str:
    """Return which version of the product this is."""
    try:
        return version("cairn")
    except PackageNotFoundError:
        return "unknown"  # run from its sources


def subject_of(sub: str | None) -> SubjectRecord | None:
    """Return what tells a user's own archive from others; None where nobody knows whose it is."""
    if sub is None:
        return None
    salt = os.urandom(_SALT_BYTES)
    return SubjectRecord.kept(salt=salt.hex(), sha256=_digest(salt, sub))


def is_of(subject: SubjectRecord | None, sub: str | None) -> bool:
    """Say whether an archive is that user's own."""
    if subject is None or sub is None:
        return False
    return hmac.compare_digest(subject.sha256, _digest(bytes.fromhex(subject.salt), sub))


def counts_of(files: Mapping[str, int | None]) -> dict[str, int]:
    """Return the records of the files that have some, by the file's name."""
    return {path.removesuffix(".jsonl"): records for path, records in files.items() if records is not None}


def _digest(salt: bytes, sub: str) -> str:
    return hashlib.sha256(salt + sub.encode("utf-8", "surrogatepass")).hexdigest()
