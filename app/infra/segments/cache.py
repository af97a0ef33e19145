"""The indexes that are in memory: bounded by bytes, the least used go first, and built in a thread."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from app.infra.segments.codec import Segment, decode
from app.infra.segments.index import Index
from app.infra.segments.packing import Spot, at, merge, of_model

DEFAULT_CAPACITY_BYTES: Final = 256 * 2**20
# Rows of one newer item each are merged in runs of so many, which are kept: an append changes the last run alone.
RUN_PARTS: Final = 8


class Part(NamedTuple):
    """A row that holds a segment or a newer item. `stamp` changes whenever the bytes of the row change."""

    id: UUID
    stamp: int = 0


class Key(NamedTuple):
    """Whose items, and of which kind."""

    usr: UUID
    kind: str


Runs = Mapping[tuple[Part, ...], Segment]


@dataclass(frozen=True, slots=True)
class _Shelf:
    """What is kept of one user and kind: decoded parts, and the index that was last made of them."""

    parts: Mapping[Part, Segment]
    sizes: Mapping[Part, int]
    runs: Runs
    index: Index
    order: tuple[Part, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An index to be: what is decoded already is held here; the bytes of what is `missing` the caller brings."""

    key: Key
    order: tuple[Part, ...]
    model: str
    known: Mapping[Part, Segment]
    sizes: Mapping[Part, int]
    runs: Runs
    missing: tuple[Part, ...]
    index: Index | None


class IndexCache:
    """Indexes by user and kind. Its methods belong to one event loop; only decoding and assembling leave it."""

    def __init__(self, capacity_bytes: int = DEFAULT_CAPACITY_BYTES) -> None:
        """Take how much may be kept. What alone is larger is used and not kept."""
        self._capacity_bytes = capacity_bytes
        self._shelves: OrderedDict[Key, _Shelf] = OrderedDict()
        self._building: dict[tuple[Key, tuple[Part, ...], str], asyncio.Task[_Shelf]] = {}
        self.size_bytes = 0

    def newest(self, key: Key) -> UUID | None:
        """Return the newest row of one item that is decoded here, None where nothing is: what is newer is missing."""
        shelf = self._shelves.get(key)
        newer = () if shelf is None else (part.id for part in shelf.order if part.stamp >= 0)
        return None if shelf is None else max(newer, default=UUID(int=0))

    def draft(self, key: Key, parts: Sequence[Part], model: str) -> Draft:
        """Begin an index of these rows, in the order given: of an item in several rows the last one counts."""
        order = tuple(parts)
        shelf = self._shelves.get(key)
        if shelf is None or shelf.index.model != model:  # of each row the vectors of one model are kept
            return Draft(key, order, model, {}, {}, {}, order, None)
        self._shelves.move_to_end(key)
        known = {part: shelf.parts[part] for part in order if part in shelf.parts}
        same = shelf.order == order
        missing = tuple(part for part in order if part not in known)
        return Draft(key, order, model, known, shelf.sizes, shelf.runs, missing, shelf.index if same else None)

    async def finish(
        self,
        draft: Draft,
        sealed: Mapping[Part, bytes],
        unseal: Callable[[Part, bytes], bytes],
        spots: Mapping[Part, Spot] | None = None,
    ) -> Index:
        """Return the index of a draft. `sealed` has the bytes of what is missing; `unseal` opens them, in a thread.
        `spots` are of those that were sealed before theirs was known.

        Callers who want the same at once share one build. Raises what `unseal` raises, and SegmentError for damage.
        """
        if draft.index is not None:
            return draft.index
        job = (draft.key, draft.order, draft.model)
        task = self._building.get(job)
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(_build, draft, dict(sealed), unseal, dict(spots or {})))
            self._building[job] = task
            task.add_done_callback(lambda done: self._built(job, done))
        # Shielded: that one caller goes away is no reason to fail the others.
        return (await asyncio.shield(task)).index

    def forget(self, usr: UUID) -> None:
        """Drop all that is kept of a user; what is being built is handed out, and not kept."""
        for key in [key for key in self._shelves if key.usr == usr]:
            self._drop(key)
        for job in [job for job in self._building if job[0].usr == usr]:
            del self._building[job]

    def _built(self, job: tuple[Key, tuple[Part, ...], str], task: asyncio.Task[_Shelf]) -> None:
        if self._building.get(job) is not task:
            return
        del self._building[job]
        if task.cancelled() or task.exception() is not None:
            return
        key, shelf = job[0], task.result()
        self._drop(key)
        if shelf.size_bytes > self._capacity_bytes:
            return
        self._shelves[key] = shelf
        self.size_bytes += shelf.size_bytes
        while self.size_bytes > self._capacity_bytes:
            self._drop(next(iter(self._shelves)))

    def _drop(self, key: Key) -> None:
        shelf = self._shelves.pop(key, None)
        if shelf is not None:
            self.size_bytes -= shelf.size_bytes


def _build(
    draft: Draft,
    sealed: Mapping[Part, bytes],
    unseal: Callable[[Part, bytes], bytes],
    spots: Mapping[Part, Spot],
) -> _Shelf:
    fresh = {part: of_model(decode(unseal(part, sealed[part])), draft.model) for part in draft.missing}
    parts = {**draft.known, **{part: at(segment, spots.get(part)) for part, segment in fresh.items()}}
    newer = [part for part in draft.order if len(parts[part]) == 1]
    older = [part for part in draft.order if len(parts[part]) != 1]
    whole = len(newer) // RUN_PARTS * RUN_PARTS
    cuts = (tuple(newer[start : start + RUN_PARTS]) for start in range(0, whole, RUN_PARTS))
    runs = {run: draft.runs.get(run) or merge([parts[part] for part in run], draft.model) for run in cuts}
    # Older ones first, since of an item in several the last one counts.
    rest = [parts[part] for part in newer[whole:]]
    index = Index([*(parts[part] for part in older), *runs.values(), *rest], draft.model)
    sizes = {part: draft.sizes.get(part) or segment.size_bytes for part, segment in parts.items()}
    # Counted twice, since runs hold them again, and once more where the index shares them with the parts: a bound that
    # is too strict is still a bound.
    return _Shelf(parts, sizes, runs, index, draft.order, index.size_bytes + 2 * sum(sizes.values()))
