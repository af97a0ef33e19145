"""Moments and snapshots on the wire: what every read of user memory takes and tells."""

from typing import Annotated, TypedDict

from fastapi import Query
from pydantic import Field

from app.core.moments import Moment, Snapshot
from app.web import wire

MAX_SNAPSHOT_CHARS = 64


async def moment_of(
    as_of: Annotated[wire.Moment | None, Query(description="What was in force at a time.")] = None,
    snapshot: Annotated[
        str | None,
        Query(max_length=MAX_SNAPSHOT_CHARS, description="What was in force at a snapshot that a read has given."),
    ] = None,
) -> Moment:
    """Return when a read looks at: the dependency of routes that read user memory. Raises `invalid` for both."""
    return Moment(snapshot, as_of)


class SnapshotAnswer(wire.Answer):
    """What a read of user memory tells of when it looked at."""

    snapshot: str = Field(description="Names what was read: with it, the same is answered again.")
    changes_since: int = Field(description="How many changes of user memory were made since, which this doesn't show.")


class SnapshotFields(TypedDict):
    """The fields of SnapshotAnswer."""

    snapshot: str
    changes_since: int


def snapshot_fields(snapshot: Snapshot) -> SnapshotFields:
    """Return what an answer tells of the snapshot that was read."""
    return {"snapshot": snapshot.id, "changes_since": snapshot.changes_since}
