"""HTTP for the profile."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request, Response

from app.core.idempotency import Answer
from app.core.scope import Scope
from app.core.versions import Precondition, etag
from app.profile.model import Profile
from app.profile.schemas import ProfileAnswer, ProfileHistoryAnswer, ProfilePatch, history_answer, profile_answer
from app.profile.service import Profiles
from app.web.auth import allow
from app.web.idempotency import attempted, rendered, respond
from app.web.paging import Paging, next_cursor, page_of
from app.web.preconditions import conditional, not_modified
from app.web.provide import provided

router = APIRouter(prefix="/v1/profile", tags=["profile"])

MERGE_PATCH = "application/merge-patch+json"

Reader = Annotated[Scope, Depends(allow("profile:read"))]
Writer = Annotated[Scope, Depends(allow("profile:write"))]
Service = Annotated[Profiles, Depends(provided(Profiles))]
If = Annotated[Precondition, Depends(conditional)]
Page = Annotated[Paging, Depends(page_of)]


@router.get("", response_model=ProfileAnswer)
async def read(request: Request, caller: Reader, profiles: Service) -> Response:
    """Read the profile. Everybody has one: before the first change it is empty and at version 0."""
    profile = await profiles.read(caller)
    if not_modified(request, profile.version):
        return Response(status_code=304, headers={"ETag": etag(profile.version)})
    return respond(_shown(caller, profile))


@router.patch("", response_model=ProfileAnswer)
async def patch(
    request: Request,
    body: Annotated[ProfilePatch, Body(media_type=MERGE_PATCH)],
    caller: Writer,
    profiles: Service,
    precondition: If,
) -> Response:
    """Change the profile by a merge patch (RFC 7396). The first change is conditional on version 0."""

    def shown(profile: Profile) -> Answer:
        return _shown(caller, profile)

    attempt = await attempted(request, shown)
    return respond(shown(await profiles.patch(caller, body.sent(), precondition, attempt)))


@router.get("/history")
async def history(caller: Reader, profiles: Service, paging: Page) -> ProfileHistoryAnswer:
    """List every version of the profile, newest first, with who wrote it and when."""
    before = int(paging.after["version"]) if paging.after else None
    found = await profiles.history(caller, before, paging.limit)
    following = next_cursor({"version": found.items[-1].version}) if found.more else None
    return history_answer(found, following)


def _shown(caller: Scope, profile: Profile) -> Answer:
    return rendered(profile_answer(caller.usr, profile), version=profile.version)
