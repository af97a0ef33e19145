"""What an append and a reading take in a session of 10,000 messages, beside the same in one of 100.

    .venv/bin/python tools/session_growth.py [--messages 10000] [--rounds 300]

It starts the servers for itself and serves in its own process. The two sessions take turns, request by request, so that
whatever else the machine does is the same for both: the ratio is what counts. Prints one line a case.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import httpx
import structlog

sys.path.insert(0, str(Path(__file__).parents[1]))

from app.commands.token import make_token
from app.infra.crypto.master import MasterKeys
from app.infra.db import migrations
from app.infra.embedded.stack import Stack, start_for_tests
from app.main import create_app
from app.settings import Settings

SECRET: Final = "x" * 32
SHORT: Final = 100
BATCH: Final = 100
WARM_ROUNDS: Final = 32
LIFE_S: Final = 12 * 3600
WISHES: Final = ("Never use tables.", "以后都用公制单位。", "You must always name a source.", "不要用缩写。")
TALK: Final = (
    "We saw {} herons by the lake at noon.",
    "昨天我们在湖边看到了{}只白鹭。",
    "The train left from track {}.",
)

Send = Callable[[str], Awaitable[httpx.Response]]


def _said(number: int) -> dict[str, str]:
    return {"role": "user", "content": TALK[number % len(TALK)].format(number)}


async def _session(client: httpx.AsyncClient, messages: int) -> str:
    session_id: str = (await client.post("/v1/sessions", json={})).raise_for_status().json()["id"]
    path = f"/v1/sessions/{session_id}"
    wishes = [{"role": "user", "content": wish} for wish in WISHES]
    (await client.post(f"{path}/messages", json={"messages": wishes})).raise_for_status()
    for first in range(len(WISHES), messages, BATCH):
        batch = [_said(number) for number in range(first, min(first + BATCH, messages))]
        (await client.post(f"{path}/messages", json={"messages": batch})).raise_for_status()
    return path


async def _timed(send: Send, path: str) -> float:
    start = time.perf_counter()
    answer = await send(path)
    took_ms = (time.perf_counter() - start) * 1_000
    answer.raise_for_status()
    return took_ms


async def _compare(name: str, rounds: int, paths: Sequence[str], send: Send, messages: int) -> None:
    waits: dict[str, list[float]] = {path: [] for path in paths}
    for number in range(-WARM_ROUNDS, rounds):
        for path in paths if number % 2 else reversed(paths):
            took_ms = await _timed(send, path)
            if number >= 0:
                waits[path].append(took_ms)
    short, long = (waits[path] for path in paths)
    p95 = [statistics.quantiles(each, n=20)[18] for each in (short, long)]
    print(
        f"{name}: p50 {statistics.median(short):.1f} ms at {SHORT}, {statistics.median(long):.1f} ms at {messages}"
        f" (x{statistics.median(long) / statistics.median(short):.2f}); p95 {p95[0]:.1f} and {p95[1]:.1f} ms",
        flush=True,
    )


async def _measure(client: httpx.AsyncClient, wishes: argparse.Namespace) -> None:
    paths = [await _session(client, SHORT), await _session(client, wishes.messages)]

    async def append(path: str) -> httpx.Response:
        return await client.post(f"{path}/messages", json={"messages": [_said(time.perf_counter_ns() % 1_000)]})

    async def context(path: str) -> httpx.Response:
        kinds = ["summary", "messages", "profile", "preferences"]
        asked = {"session_id": path.rpartition("/")[2], "query": "What did we see?", "include": kinds}
        return await client.post("/v1/context", json=asked)

    # Appends last: the short session grows by them.
    cases: dict[str, Send] = {"session": client.get, "context of the session": context, "append": append}
    for name, send in cases.items():
        await _compare(name, wishes.rounds, paths, send, wishes.messages)


def _settings(stack: Stack) -> Settings:
    urls = stack.urls
    return Settings.model_validate(
        {
            "auth_secret": SECRET,
            "master_key": MasterKeys.generate("growth"),
            "default_scopes": "sessions context profile preferences",
            "database_url": urls.database,
            "database_log_url": urls.database_log,
            "keys_url": urls.keys,
            "redis_url": urls.redis,
            "chroma_url": urls.chroma,
            "context_deadline_s": 20,
            "embedder_deadline_s": 20,
        }
    )


async def _run(stack: Stack, wishes: argparse.Namespace) -> None:
    app = create_app(_settings(stack))
    headers = {"Authorization": f"Bearer {make_token(SECRET, 'alice', 'growth', None, None, LIFE_S)}"}
    transport = httpx.ASGITransport(app=app)
    with structlog.testing.capture_logs():
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://cairn.test", headers=headers, timeout=60) as client,
        ):
            await _measure(client, wishes)


def main() -> None:
    """Start, measure, stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=300)
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-growth-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs this
        stack = start_for_tests(Path(folder) / "data")
        try:
            migrations.upgrade(str(stack.urls.database_owner), str(stack.urls.keys))
            asyncio.run(_run(stack, wishes))
        finally:
            stack.stop()
            stack.remove()


if __name__ == "__main__":
    main()
