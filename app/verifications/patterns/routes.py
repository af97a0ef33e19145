"""HTTP for patterns: operators of a tenant register the forms of numbers that are never stored."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from app.core.scope import Operator
from app.core.versions import Precondition, etag
from app.verifications.patterns.model import NAME_PATTERN
from app.verifications.patterns.schemas import (
    PatternAnswer,
    PatternRequest,
    PatternsAnswer,
    pattern_answer,
    patterns_answer,
    registration,
)
from app.verifications.patterns.service import Patterns
from app.web.idempotency import rendered, respond
from app.web.operators import operate
from app.web.preconditions import conditional, not_modified
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(prefix="/v1/admin/catalog/secrets", tags=["secret patterns"])

Keeper = Annotated[Operator, Depends(operate("admin:catalog"))]
Service = Annotated[Patterns, Depends(provided(Patterns))]
If = Annotated[Precondition, Depends(conditional)]
Name = Annotated[str, Path(pattern=NAME_PATTERN, examples=["employee_number"])]


@router.get("")
async def list_patterns(operator: Keeper, patterns: Service) -> PatternsAnswer:
    """List the registered patterns. Numbers of identity cards, bank cards and passports are known without any."""
    return patterns_answer(await patterns.registered(operator))


@router.get("/{name}", response_model=PatternAnswer, responses=problems("not_found"))
async def read_pattern(request: Request, name: Name, operator: Keeper, patterns: Service) -> Response:
    """Read a pattern."""
    entry = await patterns.read(operator, name)
    if not_modified(request, entry.version):
        return Response(status_code=304, headers={"ETag": etag(entry.version)})
    return respond(rendered(pattern_answer(entry), version=entry.version))


@router.put(
    "/{name}",
    response_model=PatternAnswer,
    responses={201: {"model": PatternAnswer}, **problems("quota_exceeded")},
)
async def register_pattern(
    name: Name, body: PatternRequest, operator: Keeper, patterns: Service, precondition: If
) -> Response:
    """Register a pattern, or change it. Once it is answered, every process masks what fits, in all that comes in.

    What is stored already stays as it is.
    """
    entry, created = await patterns.register(operator, name, registration(body), body.examples, precondition)
    return respond(rendered(pattern_answer(entry), 201 if created else 200, version=entry.version))


@router.delete("/{name}", status_code=204, response_model=None, responses=problems("not_found"))
async def remove_pattern(name: Name, operator: Keeper, patterns: Service, precondition: If) -> Response:
    """Take a pattern back. What was masked stays masked: there is nothing else."""
    stub = await patterns.remove(operator, name, precondition)
    return respond(rendered(None, 204, version=stub.version))
