"""How many appends a second one process acknowledges at 64 connections, beside what FastAPI answers to a hello.

    .venv/bin/python tools/append_speed.py [--seconds 8] [--connections 64] [--rounds 2] [checkout ...]

It starts the servers for itself, makes a user and a session for each connection, and appends one message at a time.
Given other checkouts of this project, it measures each of them in the same run. The ratios to the hello are what can be
compared between machines; on one that is busy with other things, that of the processor's time. One line a case.
"""

import argparse
import asyncio
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import httpx
import psutil

HERE: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))

from app.commands.token import make_token  # noqa: E402 - after the path to it
from app.infra.crypto.master import MasterKeys  # noqa: E402 - the same
from app.infra.embedded.stack import Stack  # noqa: E402 - the same

SECRET: Final = secrets.token_hex(32)
MASTER_KEY: Final = MasterKeys.generate("speed")
READY_WITHIN_S: Final = 60
STOPPED_WITHIN_S: Final = 120
WARM_S: Final = 2.0
TEXT: Final = "Please keep the summary short, and never use abbreviations in what you send to the customer. Item {}."
MIGRATE: Final = "import sys; from app.infra.db import migrations; migrations.upgrade(sys.argv[1], sys.argv[2])"
HELLO: Final = (
    "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/')\nasync def hello(): return {'hello': 'world'}"
)


class Connection(asyncio.Protocol):
    """Sends the same request again as soon as the answer is there, and counts the answers."""

    def __init__(self, request: bytes, expected: bytes) -> None:
        self.request = request
        self.expected = expected
        self.waits: list[float] = []
        self.refused = 0
        self._held = b""
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, found, body = self._held.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(body) >= length:
            if head.startswith(self.expected):
                self.waits.append(time.perf_counter() - self._sent)
            else:
                self.refused += 1
            self._held = b""
            self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self.transport.write(self.request)


@dataclass(frozen=True)
class Load:
    """What came of it: answers a second, the processor's time that the server took for each, how long each took."""

    rate: float
    cpu_us: float
    waits_ms: list[float]
    # Answers of another status: 503 where too much was asked.
    refused: int


async def load(server: int, port: int, requests: list[bytes], expected: bytes, seconds: float) -> Load:
    """Ask on a connection for each request, again and again. An answer of another status counts as refused."""
    loop = asyncio.get_running_loop()
    made = [
        (await loop.create_connection(lambda request=request: Connection(request, expected), "127.0.0.1", port))[1]
        for request in requests
    ]
    await asyncio.sleep(WARM_S)
    for one in made:
        one.waits.clear()
    began, used = time.perf_counter(), _cpu_s(server)
    await asyncio.sleep(seconds)
    took, used = time.perf_counter() - began, _cpu_s(server) - used
    waits = [wait for one in made for wait in one.waits]
    for one in made:
        one.transport.abort()
    refused = sum(one.refused for one in made)
    return Load(len(waits) / took, used * 1_000_000 / len(waits), [wait * 1_000 for wait in waits], refused)


def _cpu_s(server: int) -> float:
    process = psutil.Process(server)
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def request_of(path: str, body: bytes, token: str = "") -> bytes:
    """Return a request as it goes over the wire."""
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{bearer}{kind}\r\n\r\n".encode() + body


@contextmanager
def served(arguments: list[str], folder: Path, environment: dict[str, str], port: int, ready: str) -> Iterator[int]:
    """Run a server until the block ends, and give its process."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(  # noqa: S603 - this project's own
            [sys.executable, *arguments],
            cwd=folder,
            env=plain | {"PYTHONPATH": str(folder)} | environment,
            stdout=nowhere,
            stderr=nowhere,
        )
        try:
            until = time.monotonic() + READY_WITHIN_S
            while not _answers(f"http://127.0.0.1:{port}{ready}"):
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit("the server didn't come up")
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()
            process.wait(STOPPED_WITHIN_S)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).status_code < httpx.codes.INTERNAL_SERVER_ERROR
    except httpx.TransportError:
        return False


def hello(wishes: argparse.Namespace) -> Load:
    """Return what FastAPI does with hellos."""
    arguments = ["-m", "uvicorn", "hello:app", "--port", "8913", "--no-access-log", "--log-level", "warning"]
    requests = [request_of("/", b"{}")] * wishes.connections
    with tempfile.TemporaryDirectory(prefix="cairn-speed-") as folder:
        (Path(folder) / "hello.py").write_text(HELLO)
        with served(arguments, Path(folder), {}, 8913, "/docs") as server:
            return asyncio.run(load(server, 8913, requests, b"HTTP/1.1 200", wishes.seconds))


def appends(wishes: argparse.Namespace, stack: Stack, checkout: Path) -> Load:
    """Return what a checkout does with appends. Those that are acknowledged count."""
    urls = stack.urls
    environment = {
        "CAIRN_PORT": "8914",
        "CAIRN_AUTH_SECRET": SECRET,
        "CAIRN_MASTER_KEY": MASTER_KEY,
        "CAIRN_DEFAULT_SCOPES": "sessions",
        "CAIRN_DATABASE_URL": str(urls.database),
        "CAIRN_DATABASE_LOG_URL": str(urls.database_log),
        "CAIRN_QUEUE_URL": str(urls.queue),
        "CAIRN_KEYS_URL": str(urls.keys),
        "CAIRN_REDIS_URL": str(urls.redis),
        "CAIRN_CHROMA_URL": str(urls.chroma),
        "CAIRN_DRAIN_S": "0",
    }
    with served(["-m", "app.cli", "serve"], checkout, environment, 8914, "/readyz") as server:
        requests = []
        with httpx.Client(base_url="http://127.0.0.1:8914", trust_env=False, timeout=30) as client:
            for number in range(wishes.connections):
                token = make_token(SECRET, f"user-{number}", "speed", None, None, 3600)
                opened = client.post("/v1/sessions", json={}, headers={"Authorization": f"Bearer {token}"})
                opened.raise_for_status()
                text = TEXT.format(number)
                body = f'{{"messages": [{{"role": "user", "content": "{text}"}}]}}'.encode()
                requests.append(request_of(f"/v1/sessions/{opened.json()['id']}/messages", body, token))
        return asyncio.run(load(server, 8914, requests, b"HTTP/1.1 201", wishes.seconds))


def measured(wishes: argparse.Namespace, checkout: Path) -> Load:
    """Return what a checkout does on servers of its own, durable as in production."""
    with tempfile.TemporaryDirectory(prefix="cairn-speed-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs this
        stack = Stack(Path(folder) / "data")
        stack.start()
        try:
            migrate = [sys.executable, "-c", MIGRATE, str(stack.urls.database_owner), str(stack.urls.keys)]
            plain = os.environ | {"PYTHONPATH": str(checkout)}
            subprocess.run(migrate, cwd=checkout, env=plain, check=True, capture_output=True)  # noqa: S603 - our own
            return appends(wishes, stack, checkout)
        finally:
            stack.stop()
            stack.remove()


def main() -> None:
    """Measure each checkout and the hello, round after round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    wishes = parser.parse_args()
    for _ in range(wishes.rounds):
        base = hello(wishes)
        print(f"{'hello':20} {base.rate:6.0f}/s {base.cpu_us:6.0f} us of the processor each")
        for checkout in wishes.checkouts:
            found = measured(wishes, checkout.resolve())
            cuts = statistics.quantiles(found.waits_ms, n=100)
            ratios = f"{found.rate / base.rate:.2f} of the hello's rate, {base.cpu_us / found.cpu_us:.2f} by processor"
            print(f"{checkout.resolve().name:20} {found.rate:6.0f}/s {found.cpu_us:6.0f} us  {ratios}", end="")
            print(f"  p50 {cuts[49]:.0f} ms  p99 {cuts[98]:.0f} ms  {found.refused} refused", flush=True)


if __name__ == "__main__":
    main()
