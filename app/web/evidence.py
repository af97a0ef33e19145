"""Evidence on the wire. It stands here because every kind of user memory shows it."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from app.core.evidence import Evidence, EvidenceKind
from app.core.ids import parse, show
from app.web.wire import Answer, Request, wrong

_PREFIXES = {EvidenceKind.MESSAGE: "msg", EvidenceKind.DOCUMENT: "doc"}


class EvidenceRequest(Request):
    """The message or document that the value comes from."""

    kind: Literal["message", "document"]
    id: Annotated[str, Field(pattern=r"^(msg|doc)_[0-9a-f]{32}$")]


def _of_its_kind(evidence: EvidenceRequest) -> EvidenceRequest:
    if not evidence.id.startswith(_PREFIXES[EvidenceKind(evidence.kind)]):
        raise wrong("must have the id of a message or a document, whichever its kind is")
    return evidence


CheckedEvidence = Annotated[EvidenceRequest, AfterValidator(_of_its_kind)]


class EvidenceAnswer(Answer):
    """The message or document that a value comes from."""

    kind: str
    id: str


def evidence_of(body: EvidenceRequest | None) -> Evidence | None:
    """Return what a body names as evidence."""
    if body is None:
        return None
    kind = EvidenceKind(body.kind)
    return Evidence(kind, parse(_PREFIXES[kind], body.id))


def evidence_answer(evidence: Evidence | None) -> EvidenceAnswer | None:
    """Show evidence."""
    if evidence is None:
        return None
    return EvidenceAnswer(kind=evidence.kind.value, id=show(_PREFIXES[evidence.kind], evidence.id))
