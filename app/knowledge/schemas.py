"""Knowledge on the wire."""

import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, Field, JsonValue, ValidationError

from app.core.errors import invalid
from app.core.idempotency import Answer as Kept
from app.core.ids import parse, show
from app.core.versions import etag
from app.core.withholding import withheld_text
from app.knowledge.failures import FAILURE_TEXTS
from app.knowledge.model import (
    MAX_DOC_TYPE_CHARS,
    MAX_FILE_NAME_CHARS,
    MAX_TITLE_CHARS,
    Description,
    Document,
    Failure,
    Found,
    Half,
    Hit,
    Limits,
    Location,
    Mode,
    Page,
    Query,
    Usage,
)
from app.knowledge.multipart import Form
from app.knowledge.quotas import Quotas
from app.web.idempotency import rendered
from app.web.superseded import SupersededAnswer, superseded_answers
from app.web.wire import Answer, JsonObject, Moment, Request, wrong

DEFAULT_TOP_K = 3
MAX_TOP_K = 100
MAX_QUERY_CHARS = 8_000
MAX_FILTER_ITEMS = 200
MAX_METADATA_NAMES = 16


def _not_blank(text: str) -> str:
    if not text.strip():
        raise wrong("must hold something other than white space")
    return text


def _few(metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if len(metadata) > MAX_METADATA_NAMES:
        raise wrong(f"must name at most {MAX_METADATA_NAMES}")
    return metadata


DocType = Annotated[str, Field(min_length=1, max_length=MAX_DOC_TYPE_CHARS), AfterValidator(_not_blank)]
Title = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS)]
DocumentId = Annotated[str, Field(pattern=r"^doc_[0-9a-f]{32}$")]


class DescriptionRequest(Request):
    """What a caller says of a document."""

    doc_type: DocType
    title: Title | None = None
    metadata: JsonObject = Field(default_factory=dict)


class DocumentRequest(DescriptionRequest):
    """A document as text, plain or in markdown."""

    text: Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]


class UploadRequest(DescriptionRequest):
    """The fields of an upload beside its file; `metadata` is a JSON object."""


class SearchRequest(Request):
    """A question to what the user gave. A filter that is an empty list matches nothing."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS), AfterValidator(_not_blank)]
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True)] = DEFAULT_TOP_K
    doc_type: Annotated[list[DocType], Field(max_length=MAX_FILTER_ITEMS)] | None = None
    document_ids: Annotated[list[DocumentId], Field(max_length=MAX_FILTER_ITEMS)] | None = None
    metadata: Annotated[JsonObject, AfterValidator(_few)] = Field(
        default_factory=dict,
        description="What the document's metadata must hold: equal values, or one of the list that is there.",
    )
    after: Moment | None = Field(None, description="Only what was given at this time or later.")
    before: Moment | None = Field(None, description="Only what was given before this time.")
    mode: Mode = Mode.HYBRID


class DocumentAnswer(Answer):
    """A document in its newest version. `searched_version` is the one that search finds.

    `original_kept` is false where the file held the number of an identity card, a bank card or a passport: its text is
    kept then, with that masked.
    """

    id: str
    version: int
    searched_version: int | None
    status: str = Field(examples=["queued", "processing", "ready", "failed"])
    progress: float = Field(description="From 0 to 1.")
    reason: Failure | None = Field(description="Why it failed.")
    reason_text: str | None = Field(description="The same as a sentence, for a person.")
    doc_type: str
    title: str | None
    file_name: str | None
    metadata: dict[str, JsonValue]
    media_type: str
    encoding: str | None
    size_bytes: int
    original_kept: bool
    created_at: Moment
    updated_at: Moment


class StatusAnswer(Answer):
    """How far a document has come: nothing of what it says, or of what was said of it."""

    id: str
    version: int
    searched_version: int | None
    status: str
    progress: float
    reason: str | None


class PageAnswer(Answer):
    """Documents, newest first."""

    items: list[DocumentAnswer]
    next_cursor: str | None


class ShareAnswer(Answer):
    """How much of a quota is used."""

    used: int
    limit: int


class UsageAnswer(Answer):
    """What the caller's documents take. Deleting gives it back at once."""

    documents: ShareAnswer
    bytes: ShareAnswer
    chunks: ShareAnswer


class LocationAnswer(Answer):
    """Where in its document a hit stands: characters of its text from `start` up to `end`, and the headings above them.

    A PDF has pages: `page` is the one the hit begins on, `end_page` the one it ends on; the first is 1.
    """

    start: int
    end: int
    headings: list[str]
    page: int | None
    end_page: int | None


class ScoresAnswer(Answer):
    """The cosine, and the share of the question that the words cover; null where that wasn't looked at."""

    dense: float | None
    lexical: float | None


class HalfAnswer(Answer):
    """How well one half does among all that was looked at, from 0 to 1, and what that counts in the score."""

    score: float
    weight: float


class ExplanationAnswer(Answer):
    """What the score is made of. `fused` is the sum of both halves, each times its weight; null where that wasn't
    looked at. `rerank` is what a model says of question and passage: then it is the score, and else `fused` is.
    """

    fused: float
    lexical: HalfAnswer | None
    dense: HalfAnswer | None
    rerank: float | None


class RangeAnswer(Answer):
    """Characters (Unicode code points) of the hit's text, from `start` up to `end`."""

    start: int
    end: int


class HitAnswer(Answer):
    """A passage that was found. `score` ranks the hits of this answer and says nothing outside it."""

    chunk_id: str
    document_id: str
    version: int
    title: str | None
    doc_type: str
    text: str
    score: float
    scores: ScoresAnswer
    explanation: ExplanationAnswer
    highlights: list[RangeAnswer]
    created_at: Moment
    location: LocationAnswer
    superseded: list[SupersededAnswer]


class IndexAnswer(Answer):
    """How many of the caller's documents wait to be indexed."""

    pending: int


class SearchAnswer(Answer):
    """What was found, best first. `mode` is what was looked at: words alone where the model couldn't be asked.

    `rerank` says whether a model has put the hits in order: `unavailable` where there is one that gave no answer.
    """

    hits: list[HitAnswer]
    mode: str
    rerank: str = Field(examples=["off", "done", "unavailable"])
    index: IndexAnswer


def description(body: DescriptionRequest, file_name: str | None = None) -> Description:
    """Return what a body says of a document."""
    shortened = None if file_name is None else withheld_text(file_name)[:MAX_FILE_NAME_CHARS]
    return Description(body.doc_type, body.title, body.metadata, shortened)


def upload_description(form: Form) -> Description:
    """Return what a form says of its file. Raises RequestValidationError like a JSON body that isn't valid."""
    fields: dict[str, object] = {**form.fields}
    if "metadata" in fields:
        fields["metadata"] = _parsed("metadata", form.fields["metadata"])
    try:
        body = UploadRequest.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError([{**told, "loc": ("body", *told["loc"])} for told in error.errors()]) from None
    return description(body, form.file_name)


def upload_properties() -> dict[str, Any]:  # Any: JSON Schema
    """Return the schemas of the fields beside the file; no references, which would lead nowhere in the contract."""
    properties: dict[str, Any] = UploadRequest.model_json_schema()["properties"]  # Any: the same
    return properties | {"metadata": {"type": "object", "additionalProperties": True, "title": "Metadata"}}


def _parsed(field: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise invalid(field, "isn't valid JSON") from None


def query(body: SearchRequest) -> Query:
    """Return what a body asks."""
    ids = None if body.document_ids is None else frozenset(parse("doc", one) for one in body.document_ids)
    types = None if body.doc_type is None else frozenset(body.doc_type)
    limits = Limits(types, ids, body.metadata, body.after, body.before)
    return Query(body.query, body.top_k, limits, body.mode, with_details=True, rerank=True)


def document_answer(document: Document) -> DocumentAnswer:
    """Show a document."""
    said = document.description
    return DocumentAnswer(
        id=show("doc", document.id),
        version=document.version,
        searched_version=document.indexed_version,
        status=document.status.value,
        progress=round(document.progress, 3),
        reason=document.failure,
        reason_text=None if document.failure is None else FAILURE_TEXTS[document.failure],
        doc_type=said.doc_type,
        title=said.title,
        file_name=said.file_name,
        metadata=dict(said.metadata),
        media_type=document.media_type.value,
        encoding=document.encoding,
        size_bytes=document.size_bytes,
        original_kept=document.original_kept,
        created_at=document.created_at,
        updated_at=document.updated_at,
    )


def shown_document(document: Document) -> Kept:
    """Return the answer that shows a document. Its ETag is weak until it is settled: it changes meanwhile."""
    shown = rendered(document_answer(document), version=document.version)
    weak = {} if document.is_settled else {"ETag": f"W/{etag(document.version)}"}
    return replace(shown, headers={**shown.headers, **weak})


def status_answer(document: Document) -> StatusAnswer:
    """Show how far a document has come."""
    return StatusAnswer(
        id=show("doc", document.id),
        version=document.version,
        searched_version=document.indexed_version,
        status=document.status.value,
        progress=round(document.progress, 3),
        reason=None if document.failure is None else document.failure.value,
    )


def page_answer(page: Page, next_cursor: str | None) -> PageAnswer:
    """Show a page of documents."""
    return PageAnswer(items=[document_answer(document) for document in page.items], next_cursor=next_cursor)


def usage_answer(usage: Usage, quotas: Quotas) -> UsageAnswer:
    """Show what is used of what is allowed."""
    return UsageAnswer(
        documents=ShareAnswer(used=usage.documents, limit=quotas.documents),
        bytes=ShareAnswer(used=usage.size_bytes, limit=quotas.size_bytes),
        chunks=ShareAnswer(used=usage.chunks, limit=quotas.chunks),
    )


def search_answer(found: Found) -> SearchAnswer:
    """Show what was found."""
    return SearchAnswer(
        hits=[_hit(hit) for hit in found.hits],
        mode=found.mode.value,
        rerank=found.reranked.value,
        index=IndexAnswer(pending=found.pending),
    )


def _hit(hit: Hit) -> HitAnswer:
    passage, location = hit.passage, hit.passage.location
    return HitAnswer(
        chunk_id=show("chk", passage.chunk_id),
        document_id=show("doc", passage.document_id),
        version=passage.version,
        title=passage.title,
        doc_type=passage.doc_type,
        text=passage.text,
        score=hit.score,
        scores=ScoresAnswer(dense=hit.dense, lexical=hit.lexical),
        explanation=ExplanationAnswer(
            fused=hit.fused,
            lexical=_half(hit.words),
            dense=_half(hit.meaning),
            rerank=hit.rerank,
        ),
        highlights=[RangeAnswer(start=start, end=end) for start, end in hit.highlights],
        created_at=passage.created_at,
        location=_location(location),
        superseded=superseded_answers(hit.superseded),
    )


def _half(half: Half | None) -> HalfAnswer | None:
    return None if half is None else HalfAnswer(score=half.score, weight=half.weight)


def _location(location: Location) -> LocationAnswer:
    return LocationAnswer(
        start=location.start,
        end=location.end,
        headings=list(location.headings),
        page=location.page,
        end_page=location.end_page,
    )
