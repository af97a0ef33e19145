"""How long recall takes in a record of 6,000 messages, beyond the embedding of the question.

    .venv/bin/python tools/recall_speed.py [--messages 6000] [--rounds 200] [--profile]

It starts the servers for itself, fills the record through the service, lets the worker's job embed it, and asks.
Vectors are made up, so that nothing but the search is timed: how good it is others say. Prints one line a case.
"""

import argparse
import asyncio
import cProfile
import hashlib
import pstats
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from uuid import UUID

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from app.core.scope import Scope, Subject
from app.infra.crypto.master import MasterKeys
from app.infra.db import migrations
from app.infra.embedded.stack import Stack, start_for_tests
from app.infra.embedders.service import EmbeddingService
from app.sessions.indexing import INDEX_JOB
from app.sessions.model import Body, Draft, Opening, Recall, Role
from app.sessions.recall import Recalls
from app.sessions.service import Sessions
from app.settings import Settings
from app.wiring import Wiring, build

SESSION_MESSAGES = 100
WORDS = 8_000
WORDS_A_MESSAGE = 18
QUESTION_WORDS = 8
TOP_K = 10
# A worker that is a little behind: it comes by after so many rounds.
WORKER_ROUNDS = 8
DIMENSIONS = 512


def _vectors(texts: Sequence[str]) -> np.ndarray:
    seeds = (int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) for text in texts)
    rows = np.stack([np.random.default_rng(seed).normal(size=DIMENSIONS) for seed in seeds]).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def _embed(_self: EmbeddingService, texts: Sequence[str], **_: object) -> np.ndarray:
    return _vectors(texts)


async def _embed_one(_self: EmbeddingService, text: str) -> np.ndarray:
    return _vectors([text])[0]


def _said(rng: random.Random, count: int) -> str:
    """Return words of which some are common and most are rare, as people's are."""
    return " ".join(f"word{min(WORDS, int(rng.paretovariate(0.6)))}" for _ in range(count))


async def _filled(wired: Wiring, scope: Scope, rng: random.Random, messages: int) -> UUID:
    sessions = wired.provided[Sessions]
    session_id = UUID(int=0)
    for _ in range(0, messages, SESSION_MESSAGES):
        session_id = (await sessions.open(scope, Opening())).view.session.id
        roles = [Role.USER, Role.ASSISTANT] * (SESSION_MESSAGES // 2)
        drafts = [Draft(role, Body(content=_said(rng, WORDS_A_MESSAGE))) for role in roles]
        await sessions.append(scope, session_id, drafts)
    return session_id


async def _timed(rounds: int, ask: Callable[[], Awaitable[object]], before: Callable[[], Awaitable[object]]) -> str:
    waits, works = [], []
    for _ in range(rounds):
        await before()
        start, worked = time.perf_counter(), time.process_time()
        await ask()
        waits.append((time.perf_counter() - start) * 1_000)
        works.append((time.process_time() - worked) * 1_000)
    cuts = statistics.quantiles(waits, n=20)
    own = statistics.median(works)
    return f"p50 {statistics.median(waits):.1f} ms, p95 {cuts[18]:.1f} ms; of the processor, here: p50 {own:.1f} ms"


async def _measure(wired: Wiring, wishes: argparse.Namespace) -> None:
    rng = random.Random(7)  # noqa: S311 - made-up words
    usr = await wired.directory.enter(Subject("", "speed", "alice"), int(time.time()), None)
    scope = Scope("speed", usr, None, request_id="req_speed", address="loopback")
    last = await _filled(wired, scope, rng, wishes.messages)
    indexer = next(handler for handler in wired.handlers if handler.name == INDEX_JOB)
    await indexer.run(scope, {})
    recalls, sessions = wired.provided[Recalls], wired.provided[Sessions]

    async def ask() -> None:
        await recalls.recall(scope, Recall(_said(rng, QUESTION_WORDS), TOP_K))

    async def nothing() -> None:
        pass

    async def turn() -> None:
        said = (Role.USER, Role.ASSISTANT)
        await sessions.append(scope, last, [Draft(role, Body(content=_said(rng, WORDS_A_MESSAGE))) for role in said])

    rounds = count(1)

    async def turn_and_index_some() -> None:
        if next(rounds) % WORKER_ROUNDS == 0:
            await indexer.run(scope, {})
        await turn()

    async def turn_and_index() -> None:
        await turn()
        await indexer.run(scope, {})

    await _timed(10, ask, nothing)
    profile = cProfile.Profile()
    cases = {
        "nothing new since the last": nothing,
        "two messages were appended before": turn_and_index_some,
        "and given their vectors": turn_and_index,
        "two were appended, and no worker runs": turn,
    }
    for name, before in cases.items():
        if wishes.profile:
            profile.enable()
        print(f"{wishes.messages} messages, {name}: {await _timed(wishes.rounds, ask, before)}", flush=True)
        profile.disable()
    if wishes.profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


def _settings(stack: Stack) -> Settings:
    urls = stack.urls
    return Settings.model_validate(
        {
            "auth_secret": "x" * 32,
            "master_key": MasterKeys.generate("speed"),
            "database_url": urls.database,
            "database_log_url": urls.database_log,
            "keys_url": urls.keys,
            "redis_url": urls.redis,
            "chroma_url": urls.chroma,
        }
    )


async def _run(stack: Stack, wishes: argparse.Namespace) -> None:
    async with build(_settings(stack)) as wired:
        await _measure(wired, wishes)


def main() -> None:
    """Start, measure, stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--profile", action="store_true")
    wishes = parser.parse_args()
    EmbeddingService.embed, EmbeddingService.embed_one = _embed, _embed_one
    with tempfile.TemporaryDirectory(prefix="cairn-speed-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs this
        stack = start_for_tests(Path(folder) / "data")
        try:
            migrations.upgrade(stack.urls.database_owner, stack.urls.keys)
            asyncio.run(_run(stack, wishes))
        finally:
            stack.stop()
            stack.remove()


if __name__ == "__main__":
    main()
