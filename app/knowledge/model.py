"""Documents, their versions and chunks as data."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.assembly import Reason
from app.core.superseding import Superseded
from app.infra.extraction.model import MediaType

MAX_DOC_TYPE_CHARS = 64
MAX_TITLE_CHARS = 500
MAX_FILE_NAME_CHARS = 255
MAX_VERSION = 2**31 - 1
# A document's bytes are sealed and stored part by part; no part is larger.
PART_BYTES = 1024 * 1024
MAX_DOCUMENT_BYTES = 50 * 1024 * 1024

Json = Mapping[str, Any]  # Any: a client's own JSON, kept as it came


class Status(StrEnum):
    """How far a version of a document has come. One that is still being received is shown to nobody."""

    RECEIVING = "receiving"
    QUEUED = "queued"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


class Failure(StrEnum):
    """Why a version failed: the whole list. Those of app.infra.extraction.model.Refusal are among them."""

    NOT_TEXT = "not_text"
    UNKNOWN_ENCODING = "unknown_encoding"
    NO_TEXT = "no_text"
    ENCRYPTED = "encrypted"
    MALFORMED = "malformed"
    MACROS = "macros"
    UNSUPPORTED = "unsupported"
    UNPACKS_TOO_LARGE = "unpacks_too_large"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_MUCH_TEXT = "too_much_text"
    TOO_COMPLEX = "too_complex"
    GAVE_UP = "gave_up"
    QUOTA_EXCEEDED = "quota_exceeded"


class Mode(StrEnum):
    """What search looks at: meaning and words, or one of the two."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


class Reranked(StrEnum):
    """Whether a model has put the hits in order: there is none, it has, or it didn't answer."""

    OFF = "off"
    DONE = "done"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Description:
    """What a caller says of a version."""

    doc_type: str
    title: str | None = None
    metadata: Json = field(default_factory=dict)
    file_name: str | None = None

    def says_the_same(self, other: "Description") -> bool:
        """Whether two say the same of the same bytes. What the file is called on somebody's disk says nothing of it."""
        return (self.doc_type, self.title, self.metadata) == (other.doc_type, other.title, other.metadata)


@dataclass(frozen=True, slots=True)
class Content:
    """What a version's bytes are. `tag` is the same for the same bytes of the same user."""

    media_type: MediaType
    size_bytes: int
    tag: bytes


@dataclass(frozen=True, slots=True)
class Document:
    """A document in its newest version. `indexed_version` is the one that search finds meanwhile.

    `original_kept` is false where the bytes are gone: they held a number that is never stored.
    """

    id: UUID
    version: int
    indexed_version: int | None
    status: Status
    progress: float
    failure: Failure | None
    description: Description
    media_type: MediaType
    encoding: str | None
    size_bytes: int
    created_at: datetime
    updated_at: datetime
    original_kept: bool = True

    @property
    def is_settled(self) -> bool:
        """Whether ingestion has come to its end."""
        return self.status in {Status.READY, Status.FAILED}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a user's documents take, those that are ingested and those that failed included."""

    documents: int
    size_bytes: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents, and whether more follow."""

    items: Sequence[Document]
    more: bool


@dataclass(frozen=True, slots=True)
class Location:
    """Where in its document's text a chunk stands: characters from `start` up to `end`, under these headings.

    Where the document has pages, `page` is the one it begins on and `end_page` the one it ends on; the first is 1.
    """

    start: int
    end: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    end_page: int | None = None


def part_count(size_bytes: int) -> int:
    """Return how many parts the bytes of a document are kept in."""
    return -(-size_bytes // PART_BYTES)


def chunk_id(document_id: UUID, version: int, ordinal: int) -> UUID:
    """Return the id of a chunk: a UUID of version 7 with its document's time, the same for the same place.

    Two attempts at one document so come to the same rows, whichever wrote them and whichever makes them searched.
    """
    place = document_id.bytes + version.to_bytes(8) + ordinal.to_bytes(8)
    digest = hashlib.sha256(place).digest()[:10]
    value = int.from_bytes(document_id.bytes[:6] + digest)
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document's text."""

    text: str
    location: Location


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with its id, the tag of its text and its vectors, by the model that has made each: at least one."""

    id: UUID
    ordinal: int
    chunk: Chunk
    tag: bytes
    vectors: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class StoredText:
    """What a stored chunk says, and where in its document's text."""

    ordinal: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Which documents may be found. What is None is no limit; what is empty lets nothing through, but for `metadata`.

    Times are of [after, before), and of the version that is searched.
    """

    doc_types: frozenset[str] | None = None
    document_ids: frozenset[UUID] | None = None
    metadata: Json = field(default_factory=dict)
    after: datetime | None = None
    before: datetime | None = None


EVERYTHING = Limits()


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, and where."""

    text: str
    top_k: int
    limits: Limits = EVERYTHING
    mode: Mode = Mode.HYBRID
    # Whether hits are to tell where the question's words stand, and what of them isn't current any more.
    with_details: bool = False
    # Whether a model is to put them in order, where there is one.
    rerank: bool = False
    # Until when (time.monotonic) the embedder and the vector store are waited for, where that isn't as long as usual.
    waits_until_s: float | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as search shows it, with the document that it is in."""

    chunk_id: UUID
    document_id: UUID
    version: int
    title: str | None
    doc_type: str
    text: str
    tag: bytes
    location: Location
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Half:
    """How well a passage's words, or its meaning, do among all that was looked at (0 to 1), and what that counts."""

    score: float
    weight: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `score` ranks the hits of one answer: it is what a reranker says, and without one the
    same as `fused`, the sum of the two halves, each by its weight.

    `lexical` is the share of the question's weight that the words of the passage cover, `dense` the cosine of the two;
    None where that wasn't looked at. These two can be held against a threshold. `highlights` are ranges of characters
    of the passage's text.
    """

    passage: Passage
    score: float
    dense: float | None
    lexical: float | None
    fused: float
    words: Half | None = None
    meaning: Half | None = None
    rerank: float | None = None
    highlights: Sequence[tuple[int, int]] = ()
    superseded: Sequence[Superseded] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The hits, best first, how they were looked for, how many of the user's documents wait to be indexed, and whether
    a model has put the hits in order. `lacks` says why nothing was looked for by its meaning, where that was wanted.
    """

    hits: Sequence[Hit]
    mode: Mode
    pending: int
    reranked: Reranked = Reranked.OFF
    lacks: Reason | None = None
