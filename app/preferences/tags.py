"""Keyed tags: what keys, values and evidence are found by without being readable."""

from app.core.evidence import Evidence
from app.infra.crypto.box import Box
from app.preferences.model import canonical

# In the memory of refusals: any value of a key, and no evidence at all.
ANY_VALUE = b""
NO_EVIDENCE = b""


def key_tag(box: Box, key: str) -> bytes:
    """Return the tag of a key."""
    return box.tag("preference-key", key)


def value_tag(box: Box, value: object) -> bytes:
    """Return the tag of a value: the same for equal JSON."""
    return box.tag("preference-value", canonical(value))


def evidence_tag(box: Box, evidence: Evidence | None) -> bytes:
    """Return the tag of a piece of evidence."""
    if evidence is None:
        return NO_EVIDENCE
    return box.tag("preference-evidence", f"{evidence.kind}:{evidence.id.hex}")
