"""HTTP for what agents infer, and for the user's decision on it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from app.core.errors import invalid
from app.core.idempotency import Answer
from app.core.ids import parse
from app.core.scope import Scope
from app.core.versions import Precondition, etag
from app.preferences.candidates import Candidates
from app.preferences.judgement import Candidate, Outcome
from app.preferences.model import Written
from app.preferences.proposal_schemas import (
    PreferenceCandidateAnswer,
    PreferenceCandidatesAnswer,
    PreferenceProposalAnswer,
    PreferenceProposalRequest,
    candidate_answer,
    candidates_answer,
    proposal,
    proposal_answer,
)
from app.preferences.proposals import Proposals
from app.preferences.schemas import PreferenceAnswer, preference_answer
from app.web.auth import allow
from app.web.idempotency import attempted, rendered, respond
from app.web.paging import Paging, next_cursor, page_of
from app.web.preconditions import conditional, not_modified
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(prefix="/v1", tags=["preferences"])

Reader = Annotated[Scope, Depends(allow("preferences:read"))]
Writer = Annotated[Scope, Depends(allow("preferences:write"))]
# Says that a person decides: an agent that only guesses has no such token.
Speaker = Annotated[Scope, Depends(allow("preferences:explicit"))]
Proposing = Annotated[Proposals, Depends(provided(Proposals))]
Deciding = Annotated[Candidates, Depends(provided(Candidates))]
If = Annotated[Precondition, Depends(conditional)]
Page = Annotated[Paging, Depends(page_of)]
AgentId = Annotated[str | None, Query(description="The same as `agent_specific`, and names the token's own agent.")]


@router.post(
    "/preference-proposals",
    status_code=201,
    response_model=PreferenceProposalAnswer,
    responses=problems("not_found", "already_rejected", "quota_exceeded", "sensitive_category"),
)
async def propose(
    request: Request,
    body: PreferenceProposalRequest,
    caller: Writer,
    proposals: Proposing,
    agent_id: AgentId = None,
) -> Response:
    """Propose what was inferred. It is applied where it contradicts no statement and no surer inference; otherwise it
    waits as a candidate for the user.
    """
    if body.agent_specific and caller.agent is None:
        raise invalid("agent_specific", "needs a token that names an agent")
    proposed = proposal(body, caller.agent if body.agent_specific else agent_id)
    attempt = await attempted(request, _shown_outcome)
    return respond(_shown_outcome(await proposals.propose(caller, proposed, attempt)))


@router.get("/preference-candidates")
async def list_candidates(caller: Reader, candidates: Deciding, paging: Page) -> PreferenceCandidatesAnswer:
    """List what waits for the user, for every agent and for the token's own, newest first."""
    before = parse("cnd", str(paging.after["id"])) if paging.after else None
    found = await candidates.waiting(caller, before, paging.limit)
    following = next_cursor({"id": candidate_answer(found.items[-1]).id}) if found.more else None
    return candidates_answer(found, following)


@router.get(
    "/preference-candidates/{candidate_id}",
    response_model=PreferenceCandidateAnswer,
    responses=problems("not_found"),
)
async def read_candidate(request: Request, candidate_id: str, caller: Reader, candidates: Deciding) -> Response:
    """Read a candidate; of a decided one, what became of it."""
    candidate = await candidates.read(caller, parse("cnd", candidate_id))
    if not_modified(request, candidate.version):
        return Response(status_code=304, headers={"ETag": etag(candidate.version)})
    return respond(_shown_candidate(candidate))


@router.post(
    "/preference-candidates/{candidate_id}/accept",
    response_model=PreferenceAnswer,
    responses={
        201: {"model": PreferenceAnswer},
        **problems("not_found", "conflict", "quota_exceeded", "sensitive_category"),
    },
)
async def accept_candidate(
    request: Request,
    candidate_id: str,
    caller: Speaker,
    candidates: Deciding,
    precondition: If,
) -> Response:
    """Make a candidate the user's own word: the answer is the preference."""
    attempt = await attempted(request, _shown_written)
    return respond(_shown_written(await candidates.accept(caller, parse("cnd", candidate_id), precondition, attempt)))


@router.post(
    "/preference-candidates/{candidate_id}/reject",
    response_model=PreferenceCandidateAnswer,
    responses=problems("not_found", "conflict"),
)
async def reject_candidate(
    request: Request,
    candidate_id: str,
    caller: Speaker,
    candidates: Deciding,
    precondition: If,
) -> Response:
    """Say no to a candidate. The same isn't proposed again from the same evidence, or from none."""
    attempt = await attempted(request, _shown_candidate)
    stub = await candidates.reject(caller, parse("cnd", candidate_id), precondition, attempt)
    return respond(_shown_candidate(stub))


def _shown_outcome(outcome: Outcome) -> Answer:
    return rendered(proposal_answer(outcome), 201)


def _shown_candidate(candidate: Candidate) -> Answer:
    return rendered(candidate_answer(candidate), version=candidate.version)


def _shown_written(written: Written) -> Answer:
    preference = written.preference
    status = 201 if written.created else 200
    return rendered(preference_answer(preference), status, version=preference.version.number)
