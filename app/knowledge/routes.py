"""HTTP for knowledge."""

from dataclasses import replace as with_changes
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse

from app.core.idempotency import Answer
from app.core.ids import parse, show
from app.core.scope import Scope
from app.core.versions import Precondition, etag
from app.infra.extraction.model import MediaType
from app.knowledge.model import Document
from app.knowledge.multipart import MEDIA_TYPE as MULTIPART
from app.knowledge.multipart import read_form
from app.knowledge.quotas import Usages
from app.knowledge.schemas import (
    DocumentAnswer,
    DocumentRequest,
    PageAnswer,
    SearchAnswer,
    SearchRequest,
    UsageAnswer,
    description,
    document_answer,
    page_answer,
    query,
    search_answer,
    shown_document,
    upload_description,
    upload_properties,
    usage_answer,
)
from app.knowledge.search import Search
from app.knowledge.service import Documents
from app.knowledge.uploads import Uploads
from app.web.auth import allow
from app.web.idempotency import attempted, rendered, respond
from app.web.paging import Paging, next_cursor, page_of
from app.web.preconditions import conditional, conditional_or_any, not_modified
from app.web.problems import problems
from app.web.provide import provided

PREFIX: Final = "/v1/knowledge"

router = APIRouter(prefix=PREFIX, tags=["knowledge"])

Reader = Annotated[Scope, Depends(allow("knowledge:read"))]
Writer = Annotated[Scope, Depends(allow("knowledge:write"))]
Service = Annotated[Documents, Depends(provided(Documents))]
If = Annotated[Precondition, Depends(conditional)]
IfAny = Annotated[Precondition, Depends(conditional_or_any)]
Page = Annotated[Paging, Depends(page_of)]

_BINARY: dict[str, Any] = {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}
_UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "required": ["file", "doc_type"],
                    "properties": {
                        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
                        **upload_properties(),
                    },
                    "additionalProperties": False,
                },
                "encoding": {"metadata": {"contentType": "application/json"}},
            },
        },
    },
}
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"description": "Kept; ingestion is owed.", "headers": {"Location": {"schema": {"type": "string"}}}},
}


@router.post(
    "/documents", status_code=202, response_model=DocumentAnswer, responses={**_ACCEPTED, **problems("quota_exceeded")}
)
async def add(request: Request, body: DocumentRequest, caller: Writer, documents: Service) -> Response:
    """Keep a text, plain or in markdown, and ingest it in the background."""
    attempt = await attempted(request, _accepted)
    return respond(_accepted(await documents.add(caller, body.text, description(body), attempt)))


@router.post(
    "/uploads",
    status_code=202,
    response_model=DocumentAnswer,
    responses={**_ACCEPTED, **problems("too_large", "unsupported_media_type", "invalid", "quota_exceeded")},
    openapi_extra=_UPLOAD,
)
async def upload(
    request: Request,
    caller: Writer,
    uploads: Annotated[Uploads, Depends(provided(Uploads))],
) -> Response:
    """Keep a file and ingest it in the background: text, markdown, HTML, CSV, PDF or DOCX, by its content."""
    async with uploads.receive(caller) as received:
        form = await read_form(request.headers.get("content-type", ""), request.stream(), received.write)
        said = upload_description(form)
        attempt = await attempted(request, _accepted, form.digest)
        if attempt is not None:
            # What is repeated is the form and not its wrapping: a client that sends it again draws another boundary.
            attempt = with_changes(attempt, request=form.digest)
        document = await received.finish(said, attempt)
    return respond(_accepted(document))


@router.get("/documents")
async def list_documents(caller: Reader, documents: Service, paging: Page) -> PageAnswer:
    """List the documents, newest first."""
    after = parse("doc", str(paging.after["id"])) if paging.after else None
    page = await documents.page(caller, after, paging.limit)
    following = next_cursor({"id": show("doc", page.items[-1].id)}) if page.more else None
    return page_answer(page, following)


@router.get("/documents/{document_id}", response_model=DocumentAnswer, responses=problems("not_found"))
async def read(request: Request, document_id: str, caller: Reader, documents: Service) -> Response:
    """Read a document's status and what was said of it. Its ETag is weak until it is settled: it changes meanwhile."""
    document = await documents.read(caller, parse("doc", document_id))
    if _is_known(request, document):
        return Response(status_code=304, headers={"ETag": etag(document.version)})
    return respond(shown_document(document))


@router.put(
    "/documents/{document_id}",
    status_code=202,
    response_model=DocumentAnswer,
    responses={**_ACCEPTED, **problems("not_found", "quota_exceeded")},
)
async def replace(
    request: Request,
    document_id: str,
    body: DocumentRequest,
    caller: Writer,
    documents: Service,
    precondition: If,
) -> Response:
    """Give a document a new version. Search finds the one before until the new one is ready, then that one alone."""
    attempt = await attempted(request, _accepted)
    found = parse("doc", document_id)
    return respond(
        _accepted(await documents.replace(caller, found, body.text, description(body), precondition, attempt))
    )


@router.post(
    "/documents/{document_id}/retry",
    status_code=202,
    response_model=DocumentAnswer,
    responses={**_ACCEPTED, **problems("not_found", "conflict")},
)
async def retry(request: Request, document_id: str, caller: Writer, documents: Service, precondition: If) -> Response:
    """Ingest a document that failed once more: after room was made, say. 409 where it hasn't failed."""
    attempt = await attempted(request, _accepted)
    return respond(_accepted(await documents.retry(caller, parse("doc", document_id), precondition, attempt)))


@router.delete("/documents/{document_id}", status_code=204, responses=problems("not_found"))
async def delete(
    request: Request,
    document_id: str,
    caller: Writer,
    documents: Service,
    precondition: IfAny,
) -> Response:
    """Let go of a document: its bytes, its passages, their vectors, whatever is being done with it."""
    attempt = await attempted(request, _nothing)
    await documents.delete(caller, parse("doc", document_id), precondition, attempt)
    return respond(_nothing(None))


@router.get(
    "/documents/{document_id}/content",
    response_class=StreamingResponse,
    responses={
        200: {"content": {kind.value: _BINARY for kind in MediaType}},
        **problems("not_found", "original_not_kept"),
    },
)
async def content(document_id: str, caller: Reader, documents: Service) -> Response:
    """Read the bytes of a document as they came. They aren't kept where they held a number that is never stored."""
    document, parts = await documents.content(caller, parse("doc", document_id))
    headers = {
        "ETag": etag(document.version),
        "Content-Length": str(document.size_bytes),
        # What a user gave is handed out, never shown by the browser in the name of this service.
        "Content-Disposition": "attachment",
    }
    return StreamingResponse(parts, headers=headers, media_type=_content_type(document))


@router.get("/usage")
async def read_usage(caller: Reader, usages: Annotated[Usages, Depends(provided(Usages))]) -> UsageAnswer:
    """Tell how many documents, bytes and chunks there are, and how many there may be."""
    return usage_answer(await usages.read(caller), usages.quotas)


@router.post("/search", responses=problems("overloaded"))
async def search(
    body: SearchRequest,
    caller: Reader,
    searching: Annotated[Search, Depends(provided(Search))],
) -> SearchAnswer:
    """Find passages by meaning and by words."""
    return search_answer(await searching.search(caller, query(body)))


def _accepted(document: Document) -> Answer:
    headers = {"Location": f"{PREFIX}/documents/{show('doc', document.id)}"}
    return rendered(document_answer(document), 202, version=document.version, headers=headers)


def _nothing(_: None) -> Answer:
    return rendered(None, 204)


def _is_known(request: Request, document: Document) -> bool:
    """Whether the client has this state: a weak ETag was given while it was still changing, and says nothing."""
    return (
        document.is_settled
        and "W/" not in request.headers.get("if-none-match", "")
        and not_modified(request, document.version)
    )


def _content_type(document: Document) -> str:
    charset = f"; charset={document.encoding.removesuffix('-sig')}" if document.encoding else ""
    return document.media_type.value + charset
