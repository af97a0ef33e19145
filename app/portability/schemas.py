"""Imports on the wire."""

from pydantic import Field

from app.core.ids import show
from app.portability.model import Import
from app.web.wire import Answer, Moment


class ProblemAnswer(Answer):
    """A record that wasn't taken: where it stands in the archive, its id there, and why."""

    file: str
    line: int
    id: str | None
    outcome: str = Field(examples=["conflict", "refused"])
    reason: str = Field(examples=["exists", "differs", "invalid", "quota_exceeded", "missing_scope"])


class ImportAnswer(Answer):
    """An import: how far it has come, and what became of each record.

    `taken`, `unchanged` (it is here already), `conflict` (what is here says something else, and stays), `refused`, and
    `left_out`: no import takes such.
    """

    id: str
    state: str = Field(examples=["queued", "running", "done", "failed"])
    source: str | None = Field(examples=["cairn", "mem0", "letta", "langgraph", "jsonl"])
    keeps_trust: bool = Field(description="Whether it is the caller's own archive: what they stated stays stated.")
    size_bytes: int
    counts: dict[str, dict[str, int]] = Field(description="Records by file of the archive and outcome.")
    problems: list[ProblemAnswer]
    problems_omitted: int
    failure: str | None = Field(examples=["malformed", "unsupported_version", "unpacks_too_large", "unrecognised"])
    created_at: Moment
    finished_at: Moment | None


def import_answer(found: Import) -> ImportAnswer:
    """Show an import."""
    report = found.report
    return ImportAnswer(
        id=show("imp", found.id),
        state=found.state.value,
        source=found.source.value if found.source else None,
        keeps_trust=found.keeps_trust,
        size_bytes=found.size_bytes,
        counts={name: dict(inner) for name, inner in report.counts.items()},
        problems=[
            ProblemAnswer(file=each.file, line=each.line, id=each.id, outcome=each.verdict.value, reason=each.reason)
            for each in report.problems
        ],
        problems_omitted=report.omitted,
        failure=found.failure.value if found.failure else None,
        created_at=found.created_at,
        finished_at=found.finished_at,
    )
