"""What is kept of an assembled context."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app.core.assembly import Decision


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the memory log: what a context was made of. The prompt itself isn't kept, only its hash."""

    id: UUID
    session_id: UUID | None
    created_at: datetime
    query: str
    prompt_tag: bytes
    snapshot: int
    budget_tokens: int
    tokens: int
    missing: Sequence[str]
    decisions: Sequence[Decision] = field(default_factory=tuple)
