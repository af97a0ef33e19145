"""HTTP for the profile."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Request, Response

from app.core.idempotency import Answer
from app.core.moments import Moment
from app.core.scope import Scope
from app.core.shown import Rendering
from app.core.versions import Precondition
from app.profile.model import Seen
from app.profile.schemas import (
    ProfileAnswer,
    ProfileHistoryAnswer,
    ProfilePatch,
    ProfileRollbackRequest,
    history_answer,
    path_of,
    profile_answer,
)
from app.profile.service import Profiles
from app.web.auth import allow
from app.web.evidence import evidence_of
from app.web.idempotency import attempted, rendered, respond
from app.web.moments import moment_of
from app.web.paging import Paging, next_cursor, page_of
from app.web.preconditions import conditional
from app.web.problems import problems
from app.web.provide import provided
from app.web.shown import rendering, respond_unless_known

router = APIRouter(prefix="/v1/profile", tags=["profile"])

MERGE_PATCH = "application/merge-patch+json"
MAX_PLACE_CHARS = 1_024

Reader = Annotated[Scope, Depends(allow("profile:read"))]
Writer = Annotated[Scope, Depends(allow("profile:write"))]
Service = Annotated[Profiles, Depends(provided(Profiles))]
If = Annotated[Precondition, Depends(conditional)]
Page = Annotated[Paging, Depends(page_of)]
When = Annotated[Moment, Depends(moment_of)]
Place = Annotated[
    str,
    Path(
        max_length=MAX_PLACE_CHARS,
        description="A JSON Pointer without its first slash: `name`, or `attributes/team/floor`; `~1` for a slash.",
    ),
]


@router.get("", response_model=ProfileAnswer)
async def read(request: Request, caller: Reader, profiles: Service, moment: When) -> Response:
    """Read the profile, now or at a moment that is past. Before the first change it is empty and at version 0."""
    return respond_unless_known(request, await profiles.show(caller, moment, _rendering_to(caller)))


@router.patch("", response_model=ProfileAnswer)
async def patch(
    request: Request,
    body: Annotated[ProfilePatch, Body(media_type=MERGE_PATCH)],
    caller: Writer,
    profiles: Service,
    precondition: If,
) -> Response:
    """Change the profile by a merge patch (RFC 7396). The first change is conditional on version 0."""
    shown = _shown_to(caller)
    attempt = await attempted(request, shown)
    evidence = evidence_of(body.evidence)
    return respond(shown(await profiles.patch(caller, body.sent(), precondition, attempt, body.reason, evidence)))


@router.post("/rollback", response_model=ProfileAnswer)
async def roll_back(
    request: Request,
    body: ProfileRollbackRequest,
    caller: Writer,
    profiles: Service,
    precondition: If,
) -> Response:
    """Write a new version that says what an earlier one said. What was erased stays erased."""
    shown = _shown_to(caller)
    attempt = await attempted(request, shown)
    return respond(shown(await profiles.roll_back(caller, body.to_version, precondition, attempt, body.reason)))


@router.delete("/fields/{field:path}", status_code=204, response_model=None, responses=problems("not_found"))
async def erase_field(
    request: Request,
    field: Place,
    caller: Writer,
    profiles: Service,
    precondition: If,
) -> Response:
    """Erase a field or an attribute for good: from every version, and the reasons that may quote it."""
    attempt = await attempted(request, _shown_erased)
    return respond(_shown_erased(await profiles.erase_field(caller, path_of(field), precondition, attempt)))


@router.get("/history")
async def history(caller: Reader, profiles: Service, paging: Page) -> ProfileHistoryAnswer:
    """List every version of the profile, newest first, with who wrote it, when, why and from which evidence."""
    before = int(paging.after["version"]) if paging.after else None
    found = await profiles.history(caller, before, paging.limit)
    following = next_cursor({"version": found.items[-1].version}) if found.more else None
    return history_answer(found, following)


def _shown_to(caller: Scope) -> Callable[[Seen], Answer]:
    return lambda seen: rendered(profile_answer(caller.usr, seen), version=seen.profile.version)


def _rendering_to(caller: Scope) -> Rendering[Seen]:
    return rendering(ProfileAnswer, _shown_to(caller))


def _shown_erased(seen: Seen) -> Answer:
    return rendered(None, 204, version=seen.profile.version)
