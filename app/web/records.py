"""The lines of archives: what an export writes, and an import reads. It stands here because every feature has some."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Self, cast

from pydantic import ConfigDict, Field

from app.core.evidence import Evidence
from app.web.evidence import EvidenceRequest, evidence_answer
from app.web.tokens import AGENT_PATTERN
from app.web.wire import Request

# The name of an agent: no text of the caller's, for it is kept as it is.
Agent = Annotated[str, Field(pattern=f"^{AGENT_PATTERN}$")]


class Record(Request):
    """A line of an archive. What is read is held to the same bounds as a request, and masked like one.

    Fields may be added to the format; whoever reads it passes over what they don't know.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    def kept(cls, **fields: Any) -> Self:  # noqa: ANN401 - each field has a type of its own
        """Return a record of what is kept, to be written as it is: the bounds of today aren't those of then."""
        return cast("Self", cls.model_construct(**fields))


def evidence_record(evidence: Evidence | None) -> EvidenceRequest | None:
    """Return evidence as a record has it."""
    shown = evidence_answer(evidence)
    return None if shown is None else EvidenceRequest.model_validate(dict(shown))


async def json_lines(pages: AsyncIterator[Sequence[Record]]) -> AsyncIterator[bytes]:
    """Yield pages of records as whole lines of JSON."""
    async for page in pages:
        yield b"".join(record.model_dump_json().encode() + b"\n" for record in page)
