"""HTTP for what a user lets be done."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.core.idempotency import Answer
from app.core.scope import Scope
from app.core.versions import Precondition
from app.rights.model import Choices
from app.rights.schemas import (
    ProcessingAnswer,
    ProcessingRequest,
    processing_answer,
)
from app.rights.service import Rights
from app.web.auth import allow
from app.web.idempotency import attempted, rendered, respond
from app.web.preconditions import conditional, not_modified
from app.web.provide import provided

router = APIRouter(prefix="/v1/users/me", tags=["rights"])

Reader = Annotated[Scope, Depends(allow("profile:read"))]
# Whoever may have everything forgotten may also have it left alone, and take that back.
Chooser = Annotated[Scope, Depends(allow("forget"))]
Service = Annotated[Rights, Depends(provided(Rights))]
If = Annotated[Precondition, Depends(conditional)]


@router.get("/processing", response_model=ProcessingAnswer)
async def read_processing(request: Request, caller: Reader, rights: Service) -> Response:
    """Read what the user lets be done: everything, at version 1, until they say otherwise."""
    choices = await rights.read(caller)
    if not_modified(request, choices.version):
        return Response(status_code=304, headers=_shown(choices).headers)
    return respond(_shown(choices))


@router.put("/processing", response_model=ProcessingAnswer)
async def choose_processing(
    request: Request, body: ProcessingRequest, caller: Chooser, rights: Service, precondition: If
) -> Response:
    """Say what may be done from now on. When it is answered it holds everywhere, for what is under way too.

    Without `remember` writes are refused with 403 `processing_stopped`, but for those that delete; reads go on, and
    contexts, of which nothing is noted. Without `infer` nothing is taken from messages, and proposals are refused.
    Without `external_models` no text is sent to a model outside: rules and words do what they can, the rest waits.
    """
    attempt = await attempted(request, _shown)
    return respond(_shown(await rights.choose(caller, body.processing(), precondition, attempt)))


def _shown(choices: Choices) -> Answer:
    return rendered(processing_answer(choices), version=choices.version)
