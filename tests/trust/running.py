"""The product as its users run it: `cairn` in processes of its own, on a data folder of its own."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from app.commands.token import make_token
from app.infra.embedded.command import launch_command
from app.infra.embedded.stack import Stack
from app.up import RUNNING_FILE

ROOT = Path(__file__).parents[2]
LOOPBACK = "127.0.0.1"
READY_WITHIN_S = 90.0
GONE_WITHIN_S = 40.0
# A start of the whole product counts to the test that needs it.
MODULE_TIMEOUT_S = 300
COMMAND_WITHIN_S = 60.0
ANSWER_WITHIN_S = 30
API_PROCESSES = 2
TOKEN_LIFE_S = 4 * 3600
POLL_S = 0.02
# Without it each client loads the certificates of the machine: 40 ms of processor, for a poll of `/readyz` too.
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

Environment = Mapping[str, str]


def becomes_true(check: Callable[[], bool], within_s: float) -> bool:
    """Poll until it is so, or say that it wasn't in time."""
    until = time.monotonic() + within_s
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _serves(process: psutil.Process) -> bool:
    try:
        return "--multiprocessing-fork" in process.cmdline()
    except psutil.Error:  # it has just ended
        return False


def plain_environment(settings: Environment) -> dict[str, str]:
    """Return this process's environment without any settings of Cairn's but the given ones."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")} | dict(settings)


def run_cairn(settings: Environment, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. All that it printed is in `stdout`."""
    return subprocess.run(  # noqa: S603 - our own command
        _command(arguments),
        check=False,
        cwd=ROOT,
        env=plain_environment(settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_WITHIN_S,
    )


def _command(arguments: tuple[str, ...]) -> list[str]:
    """Have it end with this process, however this one ends."""
    order: dict[str, object] = {"parent": os.getpid(), "death_signal": int(signal.SIGTERM)}
    return launch_command(order, None, (sys.executable, "-m", "app.cli", *arguments))


@dataclass
class Running:
    """A `cairn` that runs: its process, where it answers, and the file that holds what it prints."""

    process: "subprocess.Popen[bytes]"
    port: int
    printed: Path
    secret: str
    seen: set[psutil.Process] = field(default_factory=set)

    @property
    def base_url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def client(self, sub: str, tenant: str, scope: str | None = None) -> httpx.Client:
        headers = self._headers(sub, tenant, scope)
        return httpx.Client(
            base_url=self.base_url, headers=headers, timeout=ANSWER_WITHIN_S, verify=PLAIN, trust_env=False
        )

    def async_client(self, sub: str, tenant: str) -> httpx.AsyncClient:
        """Each has connections of its own, so that several reach several of the API's processes."""
        headers = self._headers(sub, tenant, None)
        return httpx.AsyncClient(
            base_url=self.base_url, headers=headers, timeout=ANSWER_WITHIN_S, verify=PLAIN, trust_env=False
        )

    def _headers(self, sub: str, tenant: str, scope: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {make_token(self.secret, sub, tenant, None, scope, TOKEN_LIFE_S)}"}

    def ready_status(self) -> int | None:
        """Return what `/readyz` answers on a new connection, None where nobody listens."""
        try:
            return httpx.get(
                f"{self.base_url}/readyz", timeout=ANSWER_WITHIN_S, verify=PLAIN, trust_env=False
            ).status_code
        except httpx.TransportError:
            return None

    def await_ready(self) -> None:
        def is_ready() -> bool:
            assert self.process.poll() is None, self.text()
            return self.ready_status() == httpx.codes.OK

        assert becomes_true(is_ready, READY_WITHIN_S), self.text()

    def text(self) -> str:
        return self.printed.read_text(encoding="utf-8", errors="replace")

    def tree(self) -> set[psutil.Process]:
        """Return this process and all below it, as they are now."""
        with suppress(psutil.NoSuchProcess):
            top = psutil.Process(self.process.pid)
            found = {top, *top.children(recursive=True)}
            self.seen |= found
            return found
        return set()

    def child(self, command: str) -> psutil.Process:
        """Return the `cairn serve` or `cairn worker` of a `cairn up`."""
        children = psutil.Process(self.process.pid).children()
        return next(each for each in children if each.cmdline()[-2:] == ["app.cli", command])

    def api_processes(self) -> list[psutil.Process]:
        """Return the processes that serve requests: children of `cairn serve` where there are several."""
        top = psutil.Process(self.process.pid)
        serve = top if top.cmdline()[-1] == "serve" else self.child("serve")
        return [each for each in serve.children() if _serves(each)]

    def client_ports(self) -> list[set[int]]:
        """Return the ports of the clients that each of the API's processes talks to."""
        return [
            {
                each.raddr.port
                for each in process.net_connections()
                if each.status == psutil.CONN_ESTABLISHED and each.laddr.port == self.port
            }
            for process in self.api_processes()
        ]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def await_end(self) -> int:
        return self.process.wait(GONE_WITHIN_S)

    def clean_up(self) -> None:
        """End whatever of it is left: the process by SIGTERM, and by SIGKILL what outlives it."""
        self.tree()
        if self.process.poll() is None:
            self.send(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GONE_WITHIN_S)
        for process in self.seen:
            if is_alive(process):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.wait(GONE_WITHIN_S)


class Installation:
    """A data folder, and the `cairn up` that runs on it. One is shared by the tests: each leaves it running."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cairn-trust-"))
        self.folder.chmod(0o755)  # PostgreSQL runs as another user where root runs the tests
        self.data = self.folder / "data"
        self.settings = {"CAIRN_WORKERS": str(API_PROCESSES), "CAIRN_DRAIN_S": "0.2"}
        self.running: Running | None = None
        self._starts = 0

    def start(self) -> Running:
        """Start `cairn up` and return once it says that it is ready."""
        port = free_port()
        running = spawn(self._printed(), port, "", self.settings, "up", "--data", str(self.data), "--port", str(port))
        self.running = running
        running.await_ready()
        assert becomes_true(lambda: "Ready after" in running.text(), READY_WITHIN_S), running.text()
        running.secret = (self.data / "secrets" / "auth_secret").read_text(encoding="utf-8")
        running.tree()
        return running

    def ensure(self) -> Running:
        """Return what runs; start it where a test has ended it."""
        if self.running is not None and self.running.process.poll() is None:
            return self.running
        return self.start()

    def stop(self) -> int:
        """Have it end as a user does, and return its status."""
        assert self.running is not None
        self.running.tree()
        self.running.send(signal.SIGTERM)
        return self.running.await_end()

    def environment(self) -> dict[str, str]:
        """Return the settings that its API and its worker run with: for processes beside them, and commands."""
        noted: dict[str, str] = json.loads((self.data / RUNNING_FILE).read_text(encoding="utf-8"))
        return noted

    @contextmanager
    def serving(self, **settings: str) -> Iterator[Running]:
        """Run one more `cairn serve` on the same stores, as another machine would."""
        port = free_port()
        environment = self.environment() | {"CAIRN_PORT": str(port)} | settings
        running = spawn(self._printed(), port, environment["CAIRN_AUTH_SECRET"], environment, "serve")
        try:
            running.await_ready()
            yield running
        finally:
            running.clean_up()

    def printed(self) -> list[Path]:
        """Return the files with what its processes have printed, those of earlier starts too."""
        return sorted(self.folder.glob("printed-*.log"))

    def data_folders(self) -> list[Path]:
        return Stack(self.data).folders

    def remove(self) -> None:
        if self.running is not None:
            self.running.clean_up()
        Stack(self.data).remove()

    def _printed(self) -> Path:
        self._starts += 1
        return self.folder / f"printed-{self._starts}.log"


def spawn(printed: Path, port: int, secret: str, settings: Environment, *arguments: str) -> Running:
    with printed.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            _command(arguments),
            cwd=ROOT,
            env=plain_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # a group of its own, as a shell gives a job
        )
    return Running(process, port, printed, secret)


def printed_token(text: str) -> str:
    """Return the token that `cairn up` prints for the user to paste."""
    found = re.search(r"^export CAIRN_TOKEN=(\S+)$", text, re.MULTILINE)
    assert found, text
    return found[1]
