"""HTTP for preferences."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from app.core.idempotency import Answer
from app.core.moments import Moment
from app.core.scope import Scope
from app.core.versions import Precondition
from app.preferences.model import KEY_PATTERN, Found, InForce, Preference, Written
from app.preferences.schemas import (
    PreferenceAnswer,
    PreferenceBatchAnswer,
    PreferenceBatchRequest,
    PreferenceHistoryAnswer,
    PreferenceReadAnswer,
    PreferenceRequest,
    PreferenceRollbackRequest,
    PreferencesAnswer,
    PreferenceWrittenAnswer,
    batch_answer,
    found_answer,
    history_answer,
    in_force_answer,
    preference_answer,
    statement,
    written_answer,
)
from app.preferences.service import Preferences
from app.web.auth import allow
from app.web.direct import direct
from app.web.idempotency import attempted, rendered, respond
from app.web.moments import moment_of
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.preconditions import conditional
from app.web.problems import problems
from app.web.provide import provided
from app.web.shown import rendering, respond_unless_known

router = APIRouter(prefix="/v1/preferences", tags=["preferences"])

Reader = Annotated[Scope, Depends(allow("preferences:read"))]
Writer = Annotated[Scope, Depends(allow("preferences:write"))]
# Says that a person has said it: an agent that only guesses has no such token.
Speaker = Annotated[Scope, Depends(allow("preferences:explicit"))]
Service = Annotated[Preferences, Depends(provided(Preferences))]
If = Annotated[Precondition, Depends(conditional)]
Page = Annotated[Paging, Depends(page_of)]
Key = Annotated[str, Path(pattern=KEY_PATTERN)]
AgentId = Annotated[str | None, Query(description="Names the value for one agent, which must be the token's own.")]
When = Annotated[Moment, Depends(moment_of)]


@router.get("", response_model=PreferencesAnswer, responses=problems("not_found"))
@direct
async def list_in_force(
    caller: Reader,
    preferences: Service,
    paging: Page,
    moment: When,
    agent_id: AgentId = None,
) -> Response:
    """List the preferences in force for the token's agent; its own value of a key goes before the general one.

    What was erased since a past moment shows as `erased`. All pages are of the snapshot that the first one tells.
    """
    after = (UUID(hex=str(paging.after["id"])), int(paging.after["number"])) if paging.after else None
    shown = await preferences.show_in_force(caller, agent_id, moment, after, paging.limit, _IN_FORCE)
    return respond(shown.answer)


@router.get("/{key}", response_model=PreferenceReadAnswer, responses=problems("not_found"))
@direct
async def read(
    request: Request,
    key: Key,
    caller: Reader,
    preferences: Service,
    moment: When,
    agent_id: AgentId = None,
) -> Response:
    """Read the value of a key: the general one, or the one for the named agent; now, or at a moment that is past."""
    shown = await preferences.show(caller, key, agent_id, moment, _FOUND)
    return respond_unless_known(request, shown)


@router.put(
    "/{key}",
    response_model=PreferenceWrittenAnswer,
    responses={
        201: {"model": PreferenceWrittenAnswer},
        **problems("not_found", "quota_exceeded", "sensitive_category"),
    },
)
@direct
async def write(
    request: Request,
    key: Key,
    body: PreferenceRequest,
    caller: Speaker,
    preferences: Service,
    precondition: If,
    agent_id: AgentId = None,
) -> Response:
    """Write what the user says about a key."""
    attempt = await attempted(request, _shown_written)
    written = await preferences.write(caller, statement(key, body), agent_id, precondition, attempt)
    return respond(_shown_written(written))


@router.put(
    "",
    response_model=PreferenceBatchAnswer,
    responses=problems("not_found", "stale_version", "quota_exceeded", "sensitive_category"),
)
async def write_all(
    request: Request,
    body: PreferenceBatchRequest,
    caller: Speaker,
    preferences: Service,
    agent_id: AgentId = None,
) -> Response:
    """Write what the user says about several keys: all of it, or nothing where one of the versions is stale."""
    attempt = await attempted(request, _shown_all)
    statements = [(statement(item.key, item), item.version) for item in body.items]
    return respond(_shown_all(await preferences.write_all(caller, statements, agent_id, attempt)))


@router.delete("/{key}", status_code=204, response_model=None, responses=problems("not_found"))
async def delete(
    request: Request,
    key: Key,
    caller: Writer,
    preferences: Service,
    precondition: If,
    agent_id: AgentId = None,
) -> Response:
    """Take the value out of every version. A stub is left; a later write may build on its version, the ETag."""
    attempt = await attempted(request, _shown_deleted)
    return respond(_shown_deleted(await preferences.delete(caller, key, agent_id, precondition, attempt)))


@router.get("/{key}/history", responses=problems("not_found"))
async def history(
    key: Key,
    caller: Reader,
    preferences: Service,
    paging: Page,
    agent_id: AgentId = None,
) -> PreferenceHistoryAnswer:
    """List every version of a key, newest first, with who wrote it, when and why."""
    before = int(paging.after["version"]) if paging.after else None
    found = await preferences.history(caller, key, agent_id, before, paging.limit)
    following = next_cursor({"version": found.items[-1].number}) if found.more else None
    return history_answer(found, following)


@router.post(
    "/{key}/rollback",
    response_model=PreferenceAnswer,
    responses=problems("not_found", "conflict", "sensitive_category"),
)
async def roll_back(
    request: Request,
    key: Key,
    body: PreferenceRollbackRequest,
    caller: Speaker,
    preferences: Service,
    precondition: If,
    agent_id: AgentId = None,
) -> Response:
    """Write a new version that says what an earlier one said."""
    attempt = await attempted(request, _shown)
    back = await preferences.roll_back(caller, key, agent_id, body.to_version, precondition, attempt)
    return respond(_shown(back))


def _shown(preference: Preference) -> Answer:
    return rendered(preference_answer(preference), version=preference.version.number)


def _shown_found(found: Found) -> Answer:
    return rendered(found_answer(found), version=found.preference.version.number)


def _shown_in_force(found: InForce) -> Answer:
    last: Position | None = None
    if found.more:
        last = {"id": found.items[-1].id.hex, "number": found.snapshot.number}
    return rendered(in_force_answer(found, next_cursor(last)))


_FOUND = rendering(PreferenceReadAnswer, _shown_found)
_IN_FORCE = rendering(PreferencesAnswer, _shown_in_force)


def _shown_deleted(stub: Preference) -> Answer:
    return rendered(None, 204, version=stub.version.number)


def _shown_all(written: Sequence[Written]) -> Answer:
    return rendered(batch_answer(written))


def _shown_written(written: Written) -> Answer:
    preference = written.preference
    status = 201 if written.created else 200
    return rendered(written_answer(written), status, version=preference.version.number)
