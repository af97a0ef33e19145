"""HTTP for taking a user's data out, and in."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from app.core.idempotency import Answer
from app.core.ids import parse, show
from app.core.scope import Scope
from app.portability.model import Import, Source
from app.portability.receiving import Imports
from app.portability.schemas import ImportAnswer, import_answer
from app.portability.service import Exports
from app.web.acting import act
from app.web.auth import allow, permits
from app.web.idempotency import attempted, rendered, respond
from app.web.operators import REASON_PARAMETER
from app.web.problems import problems
from app.web.provide import provided
from app.web.strict import media_type_error
from app.web.tokens import Claims

PREFIX: Final = "/v1/users/me"
ZIP: Final = "application/zip"
OCTETS: Final = "application/octet-stream"
# What kinds of records need, each its own.
NEEDED: Final = ("profile:write", "preferences:write", "memories:write", "sessions:write", "knowledge:write")
_ARCHIVE: dict[str, Any] = {
    "description": "One zip, as docs/export-format.md has it.",
    "content": {ZIP: {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}},
}

_DUMP: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {OCTETS: {"schema": {"type": "string", "contentMediaType": OCTETS}}},
    },
}

router = APIRouter(prefix=PREFIX, tags=["portability"])
operator_router = APIRouter(prefix="/v1/admin/users/{user_id}", tags=["portability"])

Exporter = Annotated[Scope, Depends(allow("export"))]
Importer = Annotated[Scope, Depends(allow("memories:write"))]


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: _ARCHIVE, **problems("overloaded")},
)
async def export(
    request: Request, caller: Exporter, exports: Annotated[Exports, Depends(provided(Exports))]
) -> Response:
    """Take everything about the user: one zip of JSON lines and the documents as they came, as of one moment.

    It is streamed: an archive without its last file, `manifest.json`, broke off. No two are the same, for the audit has
    each: there is no ETag.
    """
    claims: Claims = request.state.claims
    return archive_response(await exports.begin(caller, claims.subject.sub))


@operator_router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: _ARCHIVE, **problems("overloaded", "not_found")},
    openapi_extra={"parameters": [REASON_PARAMETER]},
)
async def export_user(
    caller: Annotated[Scope, Depends(act("admin:read"))], exports: Annotated[Exports, Depends(provided(Exports))]
) -> Response:
    """Take everything about a user of the operator's tenant, as the user takes it, without their `sub`."""
    return archive_response(await exports.begin(caller, None))


@router.post(
    "/import",
    status_code=202,
    response_model=ImportAnswer,
    responses={
        202: {"description": "Received; the worker takes it.", "headers": {"Location": {"schema": {"type": "string"}}}},
        **problems("too_large", "unsupported_media_type", "invalid", "conflict"),
    },
    openapi_extra=_DUMP,
)
async def import_archive(
    request: Request,
    caller: Importer,
    imports: Annotated[Imports, Depends(provided(Imports))],
    source: Annotated[Source | None, Query(description="What it comes from; without it that is recognised.")] = None,
) -> Response:
    """Take an archive of an export, or a dump of mem0 (`get_all`), Letta (an agent file), a LangGraph store, or lines
    of JSON: facts ({text, metadata?, created_at?}) and messages ({role, content, ...}).

    It may be repeated: what was taken is there once. What is here stays, and is told as a conflict where the archive
    says something else. Each kind needs the scope that writes it: what the token lacks is told as refused.
    """
    wrong = media_type_error(request, OCTETS)
    if wrong is not None:
        raise wrong
    claims: Claims = request.state.claims
    rights = [each for each in NEEDED if permits(claims.scopes, each)]
    receiving = imports.begin(caller)
    try:
        await receiving.receive(request.stream())
        attempt = await attempted(request, _accepted, receiving.digest)
        own = claims.subject.sub if permits(claims.scopes, "preferences:explicit") else None
        made = await receiving.finish(source, rights, own, attempt)
    finally:
        await receiving.give_up()
    return respond(_accepted(made))


@router.get("/imports/{import_id}", responses=problems("not_found"))
async def read_import(
    import_id: str, caller: Importer, imports: Annotated[Imports, Depends(provided(Imports))]
) -> ImportAnswer:
    """Read how far an import has come, and what became of its records."""
    return import_answer(await imports.read(caller, parse("imp", import_id)))


def _accepted(made: Import) -> Answer:
    return rendered(import_answer(made), 202, headers={"Location": f"{PREFIX}/imports/{show('imp', made.id)}"})


def archive_response(parts: AsyncIterator[bytes]) -> Response:
    """Return the response that streams an archive."""
    headers = {"Content-Disposition": 'attachment; filename="cairn-export.zip"'}
    return StreamingResponse(parts, headers=headers, media_type=ZIP)
