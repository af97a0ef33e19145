"""HTTP for what was inferred of a user's profile and facts, and for the user's decision on it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.core.idempotency import Answer
from app.core.ids import parse
from app.core.scope import Scope
from app.core.versions import Precondition, etag
from app.core.writing import Waits
from app.web.auth import allow
from app.web.idempotency import attempted, rendered, respond
from app.web.paging import Paging, next_cursor, page_of
from app.web.preconditions import conditional, not_modified
from app.web.problems import problems
from app.web.provide import provided
from app.writer.candidate_model import Candidate, Decided
from app.writer.candidate_schemas import (
    CandidateAnswer,
    CandidatesAnswer,
    DecidedAnswer,
    ProfileProposalAnswer,
    ProfileProposalRequest,
    candidate_answer,
    candidates_answer,
    decided_answer,
    inferred,
    proposal_answer,
)
from app.writer.candidates import Candidates

router = APIRouter(prefix="/v1")

ProfileReader = Annotated[Scope, Depends(allow("profile:read"))]
ProfileWriter = Annotated[Scope, Depends(allow("profile:write"))]
MemoryReader = Annotated[Scope, Depends(allow("memories:read"))]
MemoryWriter = Annotated[Scope, Depends(allow("memories:write"))]
Deciding = Annotated[Candidates, Depends(provided(Candidates))]
If = Annotated[Precondition, Depends(conditional)]
Page = Annotated[Paging, Depends(page_of)]


@router.post(
    "/profile-proposals",
    status_code=201,
    response_model=ProfileProposalAnswer,
    responses=problems("already_rejected", "quota_exceeded", "sensitive_category"),
    tags=["profile"],
)
async def propose(
    request: Request,
    body: ProfileProposalRequest,
    caller: ProfileWriter,
    candidates: Deciding,
) -> Response:
    """Propose what was inferred of who the user is. Nothing is inferred into a profile: it waits for the user."""
    attempt = await attempted(request, _shown_proposal)
    return respond(_shown_proposal(await candidates.propose(caller, Waits.PROFILE, inferred(body), attempt)))


@router.get("/profile-candidates", tags=["profile"])
async def list_profile_candidates(caller: ProfileReader, candidates: Deciding, paging: Page) -> CandidatesAnswer:
    """List what was inferred of who the user is and waits for the user, newest first."""
    return await _page(caller, Waits.PROFILE, candidates, paging)


@router.get(
    "/profile-candidates/{profile_candidate_id}",
    response_model=CandidateAnswer,
    responses=problems("not_found"),
    tags=["profile"],
)
async def read_profile_candidate(
    request: Request, profile_candidate_id: str, caller: ProfileReader, candidates: Deciding
) -> Response:
    """Read a candidate; of a decided one, what became of it."""
    return _read(request, await candidates.read(caller, parse("cnd", profile_candidate_id), Waits.PROFILE))


@router.post(
    "/profile-candidates/{profile_candidate_id}/accept",
    response_model=DecidedAnswer,
    responses=problems("not_found", "conflict", "sensitive_category"),
    tags=["profile"],
)
async def accept_profile_candidate(
    request: Request, profile_candidate_id: str, caller: ProfileWriter, candidates: Deciding, precondition: If
) -> Response:
    """Make a candidate the user's own word: a version of the profile."""
    attempt = await attempted(request, _shown)
    made = await candidates.accept(caller, parse("cnd", profile_candidate_id), Waits.PROFILE, precondition, attempt)
    return respond(_shown(made))


@router.post(
    "/profile-candidates/{profile_candidate_id}/reject",
    response_model=DecidedAnswer,
    responses=problems("not_found", "conflict"),
    tags=["profile"],
)
async def reject_profile_candidate(
    request: Request, profile_candidate_id: str, caller: ProfileWriter, candidates: Deciding, precondition: If
) -> Response:
    """Say no to a candidate. The same isn't proposed again from the same evidence, or from none."""
    attempt = await attempted(request, _shown)
    made = await candidates.reject(caller, parse("cnd", profile_candidate_id), Waits.PROFILE, precondition, attempt)
    return respond(_shown(made))


@router.get("/memory-candidates", tags=["memories"])
async def list_memory_candidates(caller: MemoryReader, candidates: Deciding, paging: Page) -> CandidatesAnswer:
    """List what was inferred from messages, has no key and waits for the user, newest first."""
    return await _page(caller, Waits.MEMORY, candidates, paging)


@router.get(
    "/memory-candidates/{memory_candidate_id}",
    response_model=CandidateAnswer,
    responses=problems("not_found"),
    tags=["memories"],
)
async def read_memory_candidate(
    request: Request, memory_candidate_id: str, caller: MemoryReader, candidates: Deciding
) -> Response:
    """Read a candidate; of a decided one, what became of it."""
    return _read(request, await candidates.read(caller, parse("cnd", memory_candidate_id), Waits.MEMORY))


@router.post(
    "/memory-candidates/{memory_candidate_id}/accept",
    response_model=DecidedAnswer,
    responses=problems("not_found", "conflict", "sensitive_category", "quota_exceeded"),
    tags=["memories"],
)
async def accept_memory_candidate(
    request: Request, memory_candidate_id: str, caller: MemoryWriter, candidates: Deciding, precondition: If
) -> Response:
    """Make a candidate the user's own word: a fact."""
    attempt = await attempted(request, _shown)
    made = await candidates.accept(caller, parse("cnd", memory_candidate_id), Waits.MEMORY, precondition, attempt)
    return respond(_shown(made))


@router.post(
    "/memory-candidates/{memory_candidate_id}/reject",
    response_model=DecidedAnswer,
    responses=problems("not_found", "conflict"),
    tags=["memories"],
)
async def reject_memory_candidate(
    request: Request, memory_candidate_id: str, caller: MemoryWriter, candidates: Deciding, precondition: If
) -> Response:
    """Say no to a candidate. The same isn't proposed again from the same evidence, or from none."""
    attempt = await attempted(request, _shown)
    made = await candidates.reject(caller, parse("cnd", memory_candidate_id), Waits.MEMORY, precondition, attempt)
    return respond(_shown(made))


async def _page(caller: Scope, waits: Waits, candidates: Candidates, paging: Paging) -> CandidatesAnswer:
    before = parse("cnd", str(paging.after["id"])) if paging.after else None
    found = await candidates.waiting(caller, waits, before, paging.limit)
    following = next_cursor({"id": candidate_answer(found.items[-1]).id}) if found.more else None
    return candidates_answer(found, following)


def _read(request: Request, candidate: Candidate) -> Response:
    if not_modified(request, candidate.version):
        return Response(status_code=304, headers={"ETag": etag(candidate.version)})
    return respond(rendered(candidate_answer(candidate), version=candidate.version))


def _shown(decided: Decided) -> Answer:
    return rendered(decided_answer(decided), version=decided.candidate.version)


def _shown_proposal(decided: Decided | None) -> Answer:
    return rendered(proposal_answer(decided.candidate if decided else None), 201)
