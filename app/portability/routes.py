"""HTTP for taking a user's data out."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse

from app.core.scope import Scope
from app.portability.service import Exports
from app.web.auth import allow
from app.web.problems import problems
from app.web.provide import provided
from app.web.tokens import Claims

ZIP: Final = "application/zip"
_ARCHIVE: dict[str, Any] = {
    "description": "One zip, as docs/export-format.md has it.",
    "content": {ZIP: {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}},
}

router = APIRouter(prefix="/v1/users/me", tags=["portability"])

Exporter = Annotated[Scope, Depends(allow("export"))]


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


def archive_response(parts: AsyncIterator[bytes]) -> Response:
    """Return the response that streams an archive."""
    headers = {"Content-Disposition": 'attachment; filename="cairn-export.zip"'}
    return StreamingResponse(parts, headers=headers, media_type=ZIP)
