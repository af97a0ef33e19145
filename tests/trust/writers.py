"""Writers who append whatever happens, readers beside them, and what both know afterwards."""

import asyncio
import itertools
import random
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import httpx

# What an append may be answered while something is down. Anything else (a 404, say) is wrong at any time.
NOT_NOW = frozenset({409, 429, 500, 502, 503, 504})
PAUSE_S = 0.05
PAGE = 200
LONGEST_BATCH = 3


@dataclass
class Conversation:
    """A session that several write to, and what is known of it from outside."""

    path: str
    told: dict[int, str] = field(default_factory=dict)
    """What was acknowledged, by sequence number."""
    seen: dict[int, str] = field(default_factory=dict)
    """What readers have seen, by sequence number."""

    def acknowledge(self, seq: int, text: str) -> None:
        assert self.told.setdefault(seq, text) == text, f"two messages were told to be number {seq}"

    @property
    def last(self) -> int:
        return max(self.told, default=0)


@dataclass
class Writer:
    """Appends one message or a few at a time. With keys it sends again what got no answer; without, it goes on."""

    name: str
    client: httpx.AsyncClient
    conversation: Conversation
    has_keys: bool
    appended: int = 0
    retried: int = 0
    replayed: int = 0
    unanswered: list[list[str]] = field(default_factory=list)
    """Sent without a key and without an answer: they may be there, once."""
    refusals: Counter[str] = field(default_factory=Counter)
    """What was said or happened instead of an answer."""

    @property
    def answered(self) -> int:
        return self.appended

    async def run(self, stop: asyncio.Event) -> None:
        for batch in self._batches():
            if stop.is_set():
                return
            await self._append(batch)

    def _batches(self) -> Iterator[list[str]]:
        numbers = itertools.count()
        sizes = random.Random(self.name)  # noqa: S311 - sizes of batches
        while True:
            yield [f"{self.name} says {next(numbers)}" for _ in range(sizes.randint(1, LONGEST_BATCH))]

    async def _append(self, batch: Sequence[str]) -> None:
        body = {"messages": [{"role": "user", "content": text} for text in batch]}
        headers = {"Idempotency-Key": uuid.uuid4().hex} if self.has_keys else {}
        while True:
            answer = await self._sent(body, headers)
            if answer is not None and answer.status_code == httpx.codes.CREATED:
                break
            if not self.has_keys:
                self.unanswered.append(list(batch))
                return
            self.retried += 1
            await asyncio.sleep(PAUSE_S)
        numbers = [message["seq"] for message in answer.json()["messages"]]
        assert numbers == list(range(numbers[0], numbers[0] + len(batch))), "a batch was torn apart"
        for seq, text in zip(numbers, batch, strict=True):
            self.conversation.acknowledge(seq, text)
        self.replayed += "Idempotent-Replayed" in answer.headers
        self.appended += len(batch)

    async def _sent(self, body: object, headers: dict[str, str]) -> httpx.Response | None:
        try:
            answer = await self.client.post(self.conversation.path, json=body, headers=headers)
        except httpx.TransportError as error:
            self.refusals[type(error).__name__] += 1
            await asyncio.sleep(PAUSE_S)
            return None
        assert answer.status_code in NOT_NOW | {201}, (answer.status_code, answer.text)
        if answer.status_code != httpx.codes.CREATED:
            self.refusals[answer.json()["code"]] += 1
            await asyncio.sleep(PAUSE_S)
        return answer


@dataclass
class Reader:
    """Reads the newest messages over and over: what was acknowledged before is there, in its place."""

    client: httpx.AsyncClient
    conversation: Conversation
    name: str = "reader"
    readings: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def answered(self) -> int:
        return self.readings

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            acknowledged = self.conversation.last
            try:
                answer = await self.client.get(self.conversation.path, params={"limit": PAGE})
            except httpx.TransportError as error:
                self.refusals[type(error).__name__] += 1
                await asyncio.sleep(PAUSE_S)
                continue
            assert answer.status_code in NOT_NOW | {200}, (answer.status_code, answer.text)
            if answer.status_code == httpx.codes.OK:
                self._check([(item["seq"], item["content"]) for item in answer.json()["items"]], acknowledged)
            else:
                self.refusals[answer.json()["code"]] += 1
            await asyncio.sleep(PAUSE_S)

    def _check(self, page: Sequence[tuple[int, str]], acknowledged: int) -> None:
        numbers = [seq for seq, _ in page]
        newest = numbers[0] if numbers else 0
        assert newest >= acknowledged, f"{acknowledged} was acknowledged before {newest} was read as the last"
        assert numbers == list(range(newest, newest - len(numbers), -1)), "a reader saw a gap"
        for seq, text in page:
            assert self.conversation.seen.setdefault(seq, text) == text, f"number {seq} was two different messages"
        self.readings += 1


@dataclass(frozen=True)
class Account:
    """What came of it all, by the record."""

    acknowledged: int
    retried: int
    replayed: int
    found_unanswered: int
    lost: int
    doubled: int

    def __str__(self) -> str:
        return (
            f"{self.acknowledged} messages acknowledged, {self.retried} requests sent again, {self.replayed} of them"
            f" had been done, {self.found_unanswered} messages stored without an answer; lost={self.lost},"
            f" doubled={self.doubled}"
        )


async def account(
    conversations: Sequence[Conversation], writers: Sequence[Writer], readers: Sequence[Reader]
) -> Account:
    """Compare the record with what was told and seen: numbers without gaps, one order, batches together."""
    lost = doubled = found = 0
    for conversation in conversations:
        client = next(reader.client for reader in readers if reader.conversation is conversation)
        record = await whole(client, conversation.path)
        assert sorted(record) == list(range(1, len(record) + 1)), "the numbers have gaps"
        lost += sum(record.get(seq) != text for seq, text in conversation.told.items())
        assert conversation.seen.items() <= record.items(), "readers saw what isn't there, or elsewhere"
        doubled += sum(count - 1 for count in Counter(record.values()).values())
        of_it = [writer for writer in writers if writer.conversation is conversation]
        known = set(conversation.told.values())
        places = {text: seq for seq, text in record.items()}
        for batch in (batch for writer in of_it for batch in writer.unanswered):
            known.update(batch)
            stored = [places[text] for text in batch if text in places]
            assert stored in ([], list(range(stored[0], stored[0] + len(batch))) if stored else []), "half a batch"
            found += len(stored)
        assert set(record.values()) <= known, "somebody said what nobody sent"
    return Account(
        acknowledged=sum(writer.appended for writer in writers),
        retried=sum(writer.retried for writer in writers),
        replayed=sum(writer.replayed for writer in writers),
        found_unanswered=found,
        lost=lost,
        doubled=doubled,
    )


async def whole(client: httpx.AsyncClient, path: str) -> dict[int, str]:
    """Return the whole record, by sequence number."""
    found: dict[int, str] = {}
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get(path, params={"limit": PAGE, **cursor})).raise_for_status().json()
        for item in page["items"]:
            assert item["seq"] not in found, f"number {item['seq']} is there twice"
            found[item["seq"]] = item["content"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}
