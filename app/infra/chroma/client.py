"""Chroma's HTTP API (v2), as far as the product needs it.

Not the client of the `chromadb` package: that one has no time-outs, raises a bare Exception for answers it doesn't
know, shares its connections between all its instances of a process and takes 0.6 s and 33 MB to import. Queries are
as fast either way (280 a second, the server's limit). The server is pinned and comes from that package.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import httpx
import numpy as np
import orjson
from numpy.typing import NDArray

from app.core.errors import AppError

CONNECT_TIMEOUT_S: Final = 1.0
# Who waits for a search is better served by the exact index than by a server that takes longer.
READ_TIMEOUT_S: Final = 2.0
WRITE_TIMEOUT_S: Final = 60.0
MAX_CONNECTIONS: Final = 16
_DATABASE: Final = "/api/v2/tenants/default_tenant/databases/default_database"
_COLLECTION: Final = f"{_DATABASE}/collections/"
# With the default threshold (1,000) an index that was evicted or restarted hides what wasn't persisted yet.
# With the default search (100) it misses some of what is nearest where many are nearly alike.
HNSW: Final = {"space": "cosine", "sync_threshold": 1, "batch_size": 1, "ef_search": 1_000}
_INDEX: Final = {"hnsw": HNSW}
_PAGE_COLLECTIONS: Final = 1_000


# What a server, or a proxy before it, says of itself and not of the collection.
_NOT_NOW: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


class NoCollectionError(Exception):
    """There is no collection of that name or id."""


class BrokenCollectionError(Exception):
    """The server is there and can't work with this collection: its files are damaged, or its vectors of another size.

    Dropping it works all the same, and so does making it anew.
    """


@dataclass(frozen=True, slots=True)
class Near:
    """What a query found: the id of a vector and its cosine to the one that was asked for."""

    id: UUID
    score: float


class ChromaClient:
    """Speaks to one Chroma server. Whatever keeps it from answering raises `store_unavailable`; a collection that it
    can't work with raises BrokenCollectionError.
    """

    def __init__(self, url: str) -> None:
        """Take the server's address; nothing is opened before the first call."""
        self._http = httpx.AsyncClient(
            base_url=url,
            timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS),
            trust_env=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def ping(self) -> None:
        """Ask the server for an answer."""
        await self._call("GET", "/api/v2/heartbeat")

    async def create(self, name: str) -> UUID:
        """Return the id of the collection of that name, made where there was none."""
        body = {"name": name, "get_or_create": True, "configuration": _INDEX}
        return UUID((await self._call("POST", f"{_DATABASE}/collections", body))["id"])

    async def find(self, name: str) -> UUID:
        """Return the id of the collection of that name. Raises NoCollectionError."""
        return UUID((await self._call("GET", f"{_DATABASE}/collections/{name}"))["id"])

    async def is_current(self, name: str) -> bool:
        """Say whether a collection is configured as one that is made now. Raises NoCollectionError."""
        found = (await self._call("GET", f"{_DATABASE}/collections/{name}"))["configuration_json"]["hnsw"] or {}
        return all(found[setting] == value for setting, value in HNSW.items() if setting in found)

    async def names(self) -> list[str]:
        """Return the names of all collections there are."""
        names: list[str] = []
        while True:
            page = f"limit={_PAGE_COLLECTIONS}&offset={len(names)}"
            found = await self._call("GET", f"{_DATABASE}/collections?{page}", timeout_s=WRITE_TIMEOUT_S)
            names += [each["name"] for each in found]
            if len(found) < _PAGE_COLLECTIONS:
                return names

    async def drop(self, name: str) -> bool:
        """Delete a collection; return whether there was one."""
        try:
            await self._call("DELETE", f"{_DATABASE}/collections/{name}", timeout_s=WRITE_TIMEOUT_S)
        except NoCollectionError:
            return False
        except BrokenCollectionError as error:  # what can't be dropped either is the server's trouble
            raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error
        return True

    async def count(self, collection: UUID) -> int:
        """Return how many vectors are in a collection."""
        return int(await self._call("GET", f"{_DATABASE}/collections/{collection}/count"))

    async def upsert(self, collection: UUID, ids: Sequence[UUID], vectors: NDArray[np.float32]) -> None:
        """Write vectors under their ids. Chroma's `add` would ignore an id that is there already, without a word."""
        encoded = [base64.b64encode(vector.tobytes()).decode() for vector in vectors.astype("<f4")]
        body = {"ids": [one.hex for one in ids], "embeddings": encoded}
        await self._call("POST", f"{_DATABASE}/collections/{collection}/upsert", body, timeout_s=WRITE_TIMEOUT_S)

    async def delete(self, collection: UUID, ids: Sequence[UUID]) -> None:
        """Delete vectors; ids that aren't there are passed over."""
        body = {"ids": [one.hex for one in ids]}
        await self._call("POST", f"{_DATABASE}/collections/{collection}/delete", body, timeout_s=WRITE_TIMEOUT_S)

    async def query(self, collection: UUID, vector: NDArray[np.float32], limit: int) -> list[Near]:
        """Return the nearest vectors, nearest first."""
        body = {"query_embeddings": [vector.tolist()], "n_results": limit, "include": ["distances"]}
        answer = await self._call("POST", f"{_DATABASE}/collections/{collection}/query", body)
        pairs = zip(answer["ids"][0], answer["distances"][0], strict=True)
        return [Near(UUID(hex=one), 1 - distance) for one, distance in pairs]

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        timeout_s: float = READ_TIMEOUT_S,
    ) -> Any:  # noqa: ANN401 - Chroma's JSON
        content = None if body is None else orjson.dumps(body)
        timeout = httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
        headers = {"Content-Type": "application/json"}
        try:
            answer = await self._http.request(method, path, content=content, headers=headers, timeout=timeout)
            if answer.status_code == HTTPStatus.NOT_FOUND:
                raise NoCollectionError
            if answer.is_error and path.startswith(_COLLECTION) and answer.status_code not in _NOT_NOW:
                raise BrokenCollectionError
            answer.raise_for_status()
            return answer.json() if answer.content else None
        except (httpx.HTTPError, ValueError) as error:
            raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error
