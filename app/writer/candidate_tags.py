"""Keyed tags: what candidates and what spoke for them are found by without being readable."""

from typing import Final

from app.core.evidence import Evidence
from app.core.writing import Waits
from app.infra.crypto.box import Box
from app.writer.candidate_model import statement

# Of a candidate that was decided, of one without a key, and of no evidence.
DECIDED: Final = b""
NO_KEY: Final = b""
NO_EVIDENCE: Final = b""


def key_tag(box: Box, waits: Waits, key: str | None) -> bytes:
    """Return the tag of a key."""
    return NO_KEY if key is None else box.tag("candidate-key", f"{waits}:{key}")


def statement_tag(box: Box, waits: Waits, key: str | None, value: object) -> bytes:
    """Return the tag of key and value: the same for equal JSON."""
    return box.tag("candidate-statement", statement(waits, key, value))


def evidence_tag(box: Box, evidence: Evidence | None) -> bytes:
    """Return the tag of a piece of evidence."""
    return NO_EVIDENCE if evidence is None else box.tag("candidate-evidence", f"{evidence.kind}:{evidence.id.hex}")
