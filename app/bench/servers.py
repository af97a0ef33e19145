"""What is measured: a stack of its own, API processes, a worker, a FastAPI hello; and how much processor each took."""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import psutil

from app.infra.crypto.master import MasterKeys
from app.infra.db import migrations
from app.infra.embedded.stack import Stack

READY_WITHIN_S: Final = 90
STOPPED_WITHIN_S: Final = 60
PORT: Final = 8931
HELLO_PORT: Final = 8932
SCOPES: Final = "sessions memories profile preferences preferences:explicit knowledge context audit forget"
_HELLO: Final = (
    "from fastapi import FastAPI\napp = FastAPI()\n@app.get('/')\nasync def hello():\n    return {'hello': 'world'}\n"
)


@dataclass(frozen=True)
class Served:
    """The service under test: where it is, what signs its tokens, and its processes by name."""

    secret: str
    processes: Mapping[str, int]


@contextmanager
def service(workers: int) -> Iterator[Served]:
    """Serve the API with everything it needs, durable as in production, until the block ends."""
    secret = secrets.token_hex(32)
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder, ExitStack() as ending:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs this
        stack = Stack(Path(folder) / "data")
        before = _children()
        stack.start()
        ending.callback(_end, stack)
        stores = _stores(before)
        migrations.upgrade(str(stack.urls.database_owner), str(stack.urls.keys))
        environment = _environment(stack, secret, workers)
        api = ending.enter_context(_process(["-m", "app.cli", "serve"], environment, folder))
        ending.enter_context(_process(["-m", "app.cli", "worker"], environment, folder))
        _wait(api, f"http://127.0.0.1:{PORT}/readyz")
        yield Served(secret, {"api": api.pid, **stores})


@contextmanager
def hello(workers: int) -> Iterator[int]:
    """Serve FastAPI's hello until the block ends, by as many processes; give its process."""
    with tempfile.TemporaryDirectory(prefix="cairn-hello-") as folder:
        (Path(folder) / "hello.py").write_text(_HELLO)
        port, log = ["--port", str(HELLO_PORT)], ["--no-access-log", "--log-level", "warning"]
        arguments = ["-m", "uvicorn", "hello:app", "--workers", str(workers), *port, *log]
        with _process(arguments, {"PYTHONPATH": folder}, folder) as process:
            _wait(process, f"http://127.0.0.1:{HELLO_PORT}/")
            yield process.pid


def used_s(processes: Mapping[str, int]) -> dict[str, float]:
    """Return the processor's seconds that each has used, with its children, and those of them that have ended."""
    return {name: _used_s(psutil.Process(pid)) for name, pid in processes.items()}


def _used_s(process: psutil.Process) -> float:
    total = 0.0
    for each in [process, *process.children(recursive=True)]:
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    own = process.cpu_times()
    return total + float(own.children_user + own.children_system)


def _environment(stack: Stack, secret: str, workers: int) -> dict[str, str]:
    urls = stack.urls
    return {
        "CAIRN_PORT": str(PORT),
        "CAIRN_WORKERS": str(workers),
        "CAIRN_AUTH_SECRET": secret,
        "CAIRN_MASTER_KEY": MasterKeys.generate("bench"),
        "CAIRN_DEFAULT_SCOPES": SCOPES,
        "CAIRN_DATABASE_URL": str(urls.database),
        "CAIRN_DATABASE_LOG_URL": str(urls.database_log),
        "CAIRN_QUEUE_URL": str(urls.queue),
        "CAIRN_KEYS_URL": str(urls.keys),
        "CAIRN_REDIS_URL": str(urls.redis),
        "CAIRN_CHROMA_URL": str(urls.chroma),
        "CAIRN_DRAIN_S": "0",
    }


@contextmanager
def _process(arguments: list[str], environment: Mapping[str, str], folder: str) -> Iterator["subprocess.Popen[bytes]"]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    root = str(Path(__file__).resolve().parents[2])
    with (Path(folder) / f"{secrets.token_hex(4)}.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - this project's own
            [sys.executable, *arguments],
            cwd=folder,
            env=plain | {"PYTHONPATH": root, **environment},
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOPPED_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(process: "subprocess.Popen[bytes]", url: str) -> None:
    until = time.monotonic() + READY_WITHIN_S
    while not _answers(url):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("a server didn't come up")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _children() -> set[int]:
    return {each.pid for each in psutil.Process().children()}


def _stores(before: set[int]) -> dict[str, int]:
    named = {"postgres": "postgres", "valkey": "redis", "redis": "redis", "chroma": "chroma"}
    found: dict[str, int] = {}
    for each in psutil.Process().children(recursive=True):
        command = " ".join(each.cmdline()[:6])
        name = next((name for word, name in named.items() if word in command), None)
        if name is not None and each.pid not in before:
            found.setdefault(name, each.pid)
    return found


def _end(stack: Stack) -> None:
    stack.stop()
    stack.remove()
