"""A user's vectors in Chroma: the collection's name, the turning of what goes in and of what is asked."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar
from uuid import UUID

import numpy as np
from cachetools import LRUCache, TTLCache
from numpy.typing import NDArray

from app.infra.chroma.client import ChromaClient, Near, NoCollectionError
from app.infra.crypto.box import Box
from app.infra.crypto.rotation import Rotation

BATCH_VECTORS: Final = 250
CACHED_COLLECTIONS: Final = 10_000
CACHED_ROTATIONS: Final = 256
CACHE_S: Final = 30
_MODEL_HEX: Final = 12
_NAME: Final = re.compile(rf"u_([0-9a-f]{{32}})_[0-9a-f]{{{_MODEL_HEX}}}")

_Result = TypeVar("_Result")


def user_of(name: str) -> UUID | None:
    """Return whose a collection of that name is, None where it is none of ours."""
    found = _NAME.fullmatch(name)
    return None if found is None else UUID(hex=found[1])


class ChromaIndex:
    """The collections of one model. No text and no name of anything goes in: ids are keyed tags, vectors are turned.

    Where Chroma doesn't answer, `store_unavailable` is raised; a collection that is missing is an empty one. One that
    is damaged raises BrokenCollectionError.
    """

    def __init__(self, client: ChromaClient, model: str) -> None:
        """Take the client, and the name (with its revision) of the model that makes the vectors."""
        self._client = client
        self.model = model
        self._tag = hashlib.sha256(model.encode()).hexdigest()[:_MODEL_HEX]
        self._collections: LRUCache[str, UUID] = LRUCache(CACHED_COLLECTIONS)
        # Made of a user's key, so not kept for longer than the vault keeps those.
        self._rotations: TTLCache[tuple[UUID, int], Rotation] = TTLCache(CACHED_ROTATIONS, CACHE_S)

    def name(self, usr: UUID) -> str:
        """Return the name of the user's collection for this model: a random reference and a hash."""
        return f"u_{usr.hex}_{self._tag}"

    async def create(self, usr: UUID) -> None:
        """Make the user's collection where there is none: a step of its own, so that no write can bring one back."""
        name = self.name(usr)
        self._collections[name] = await self._client.create(name)

    async def upsert(self, box: Box, ids: Sequence[UUID], vectors: NDArray[np.floating]) -> None:
        """Write vectors (n, dimensions) under their ids. Raises NoCollectionError where the collection wasn't made."""
        turned = self._rotation(box, vectors.shape[1]).turn(vectors)

        async def write(collection: UUID) -> None:
            for start in range(0, len(ids), BATCH_VECTORS):
                part = slice(start, start + BATCH_VECTORS)
                await self._client.upsert(collection, ids[part], turned[part])

        await self._within(box.usr, write)

    async def delete(self, usr: UUID, ids: Sequence[UUID]) -> None:
        """Delete vectors."""

        async def remove(collection: UUID) -> None:
            for start in range(0, len(ids), BATCH_VECTORS):
                await self._client.delete(collection, ids[start : start + BATCH_VECTORS])

        with suppress(NoCollectionError):
            await self._within(usr, remove)

    async def nearest(self, box: Box, vector: NDArray[np.floating], limit: int) -> list[Near]:
        """Return the vectors nearest to `vector`, nearest first."""
        turned = self._rotation(box, len(vector)).turn(vector[np.newaxis])[0]
        try:
            return await self._within(box.usr, lambda collection: self._client.query(collection, turned, limit))
        except NoCollectionError:
            return []

    async def count(self, usr: UUID) -> int:
        """Return how many vectors the user has for this model."""
        return await self.count_in(self.name(usr))

    async def is_current(self, usr: UUID) -> bool:
        """Say whether the user's collection, if there is one, is configured as one that is made now."""
        try:
            return await self._client.is_current(self.name(usr))
        except NoCollectionError:
            return True

    async def count_in(self, name: str) -> int:
        """Return how many vectors are in the collection of that name."""
        try:
            return await self._client.count(await self._client.find(name))
        except NoCollectionError:
            return 0

    async def drop(self, name: str) -> bool:
        """Delete the collection of that name; return whether there was one."""
        self._collections.pop(name, None)
        return await self._client.drop(name)

    async def _within(self, usr: UUID, work: Callable[[UUID], Awaitable[_Result]]) -> _Result:
        """Do something within the user's collection. Raises NoCollectionError where there is none of its name.

        An id that is remembered is gone where another process has built the collection anew: then it is looked up.
        """
        name = self.name(usr)
        if (known := self._collections.get(name)) is not None:
            try:
                return await work(known)
            except NoCollectionError:
                self._collections.pop(name, None)
        found = self._collections[name] = await self._client.find(name)
        return await work(found)

    def _rotation(self, box: Box, dimensions: int) -> Rotation:
        rotation = self._rotations.get((box.usr, dimensions))
        if rotation is None:
            rotation = Rotation(box.derive("chroma-rotation:" + self._tag), dimensions)
            self._rotations[box.usr, dimensions] = rotation
        return rotation
