"""An import: what is taken, how far it has come, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from app.core.portability import Outcome, Verdict

PART_BYTES: Final = 1024 * 1024
# Of one user at a time: what is received stays until it was taken.
MAX_WAITING: Final = 3
# So many records that weren't taken are told one by one; of the others how many there are.
MAX_PROBLEMS: Final = 200


class Source(StrEnum):
    """What an archive comes from."""

    CAIRN = "cairn"
    MEM0 = "mem0"
    LETTA = "letta"
    LANGGRAPH = "langgraph"
    JSONL = "jsonl"


class State(StrEnum):
    """How far an import has come. One that is still being received is shown to nobody."""

    RECEIVING = "receiving"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Failure(StrEnum):
    """Why nothing, or nothing more, is taken of an archive."""

    MALFORMED = "malformed"
    INCOMPLETE = "incomplete"
    UNSUPPORTED_VERSION = "unsupported_version"
    UNPACKS_TOO_LARGE = "unpacks_too_large"
    TOO_MANY_FILES = "too_many_files"
    TOO_LARGE_AT_ONCE = "too_large_at_once"
    UNRECOGNISED = "unrecognised"
    # The user has switched remembering off meanwhile.
    PROCESSING_STOPPED = "processing_stopped"


class UnreadableError(Exception):
    """An archive can't be read, or no further."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that wasn't taken: where it stands, its id there, and why. Nothing of what it says."""

    file: str
    line: int
    id: str | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """The last line that was taken. An empty file name is before the first."""

    file: str = ""
    line: int = 0


Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the records so far, by file and verdict; and those that weren't taken."""

    counts: Counts = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    omitted: int = 0

    def with_outcomes(self, file: str, told: Sequence[tuple[int, str | None, Outcome]]) -> "Report":
        """Return the report with what became of more records: their lines, ids and outcomes."""
        counts = {name: dict(inner) for name, inner in self.counts.items()}
        own = counts.setdefault(file.removesuffix(".jsonl"), {})
        problems, omitted = list(self.problems), self.omitted
        for line, record_id, outcome in told:
            own[outcome.verdict.value] = own.get(outcome.verdict.value, 0) + 1
            if outcome.verdict in {Verdict.TAKEN, Verdict.UNCHANGED}:
                continue
            if len(problems) < MAX_PROBLEMS:
                problems.append(Problem(file, line, record_id, outcome.verdict, outcome.reason))
            else:
                omitted += 1
        return Report(counts, problems, omitted)

    def with_left_out(self, left_out: Mapping[str, int]) -> "Report":
        """Return the report with how many records are of kinds that no import takes."""
        counts = {name: {"left_out": count} for name, count in left_out.items() if count}
        return replace(self, counts={**self.counts, **counts})


@dataclass(frozen=True, slots=True)
class Import:
    """One import. `rights` are what its token held of the permissions that kinds need; `source` is None until known."""

    id: UUID
    state: State
    source: Source | None
    agent: str | None
    rights: frozenset[str]
    keeps_trust: bool
    size_bytes: int
    place: Place
    report: Report
    failure: Failure | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def is_settled(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state in {State.DONE, State.FAILED}
