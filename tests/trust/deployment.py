"""The product as it is deployed: each server by itself, the API and the worker by URL. Any can be killed alone."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from enum import Enum
from pathlib import Path

import psutil

from app.infra.crypto.master import MasterKeys
from app.infra.db import migrations
from app.infra.embedded.stack import Ports, Server, Stack
from app.settings import variable
from tests.trust.running import API_PROCESSES, GONE_WITHIN_S, Running, becomes_true, free_port, is_alive, spawn

SECRET = "a secret of one deployment, and of nothing else"
EVERYTHING = frozenset(Server)


class Part(Enum):
    """What can be killed."""

    API = "API"
    WORKER = "worker"
    REDIS = "Redis"
    POSTGRES = "PostgreSQL"
    CHROMA = "Chroma"


# What loses nothing whichever of them is killed; Chroma has a test of its own.
KILLED = (Part.API, Part.WORKER, Part.REDIS, Part.POSTGRES)


class Deployment:
    """Three servers, `cairn serve` with several processes, and `cairn worker`. What is killed is started again by the
    test alone; everything else goes on meanwhile.
    """

    def __init__(self, **settings: str) -> None:
        """Take settings for the API and the worker, beside those that say where everything is."""
        self.folder = Path(tempfile.mkdtemp(prefix="cairn-deployed-"))
        self.folder.chmod(0o755)  # PostgreSQL runs as another user where root runs the tests
        # Started again, a server is where it was.
        ports = {server: Ports(**{server.value: free_port()}) for server in Server}
        self._stacks = {
            server: Stack(self.folder / server.value, ports=ports[server], external=EVERYTHING - {server})
            for server in Server
        }
        self._wishes = settings
        self._environment: dict[str, str] = {}
        self._starts = 0
        self._port = free_port()
        self._processes: dict[Part, Running] = {}

    def start(self) -> None:
        """Start everything and return once the API is ready. From the main thread, whose end ends the processes."""
        for stack in self._stacks.values():
            stack.start()
        self._environment = self._settings()
        owner_url, keys_url = self._environment["CAIRN_DATABASE_OWNER_URL"], self._environment["CAIRN_KEYS_URL"]
        migrations.upgrade(owner_url, keys_url)
        self._begin(Part.API)
        self._begin(Part.WORKER)
        self.api.await_ready()

    @property
    def api(self) -> Running:
        """The API: clients are made by it."""
        return self._processes[Part.API]

    @property
    def redis_url(self) -> str:
        return self._environment["CAIRN_REDIS_URL"]

    @property
    def database_url(self) -> str:
        return self._environment["CAIRN_DATABASE_URL"]

    async def kill(self, part: Part) -> None:
        """Kill all processes of a part with SIGKILL, and wait until they are gone."""
        await asyncio.to_thread(_kill, list(self._tops(part)))

    @contextmanager
    def hanging(self, part: Part) -> Iterator[None]:
        """Stop all processes of a part (SIGSTOP), which then go on where they were."""
        stopped = [each for top in self._tops(part) for each in (top, *top.children(recursive=True))]
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in stopped:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)

    async def begin_again(self, part: Part) -> None:
        """Start a part that was killed."""
        if part in self._processes:
            self._begin(part)
            return
        stack = self._stacks[_SERVERS[part]]

        def restart() -> None:
            stack.stop()
            stack.start()

        await asyncio.to_thread(restart)

    def stop(self) -> None:
        """End what runs, and remove all of it."""
        for running in self._processes.values():
            running.clean_up()
        for stack in self._stacks.values():
            stack.stop()
            stack.remove()
        shutil.rmtree(self.folder)

    def is_running(self, part: Part) -> bool:
        """Say whether a process that was started is still there."""
        return self._processes[part].process.poll() is None

    def ports_of(self, part: Part) -> set[int]:
        """Return the ports that the connections of a process begin at."""
        process = psutil.Process(self._processes[part].process.pid)
        return {connection.laddr.port for connection in process.net_connections()}

    def printed(self, part: Part) -> str:
        """Return what a process has printed since it was started last."""
        return self._processes[part].text()

    def errors(self) -> str:
        """Return the errors that the API and the worker have printed since they were started last."""
        lines = [line for part in self._processes for line in self.printed(part).splitlines()]
        return "\n".join(line for line in lines if '"level":"error"' in line)

    def _begin(self, part: Part) -> None:
        self._starts += 1
        printed = self.folder / f"printed-{self._starts}.log"
        command = {Part.API: "serve", Part.WORKER: "worker"}[part]
        self._processes[part] = spawn(printed, self._port, SECRET, self._environment, command)

    def _tops(self, part: Part) -> Iterable[psutil.Process]:
        if part in self._processes:
            return [psutil.Process(self._processes[part].process.pid)]
        children = self._stacks[_SERVERS[part]].supervisor.children
        return [psutil.Process(child.pid) for child in children]

    def _settings(self) -> dict[str, str]:
        given = {
            name: url for stack in self._stacks.values() for name, url in asdict(stack.urls).items() if url is not None
        }
        return {
            **{variable(f"{name}_url"): url for name, url in given.items()},
            "CAIRN_AUTH_SECRET": SECRET,
            "CAIRN_MASTER_KEY": MasterKeys.generate("deployed"),
            "CAIRN_DEFAULT_SCOPES": "sessions memories profile preferences preferences:explicit knowledge context",
            "CAIRN_DATA_DIR": str(self.folder),
            "CAIRN_PORT": str(self._port),
            "CAIRN_WORKERS": str(API_PROCESSES),
            "CAIRN_DRAIN_S": "0",
            "CAIRN_EMBEDDER_DEADLINE_S": "20",
            "CAIRN_CONTEXT_DEADLINE_S": "20",  # a busy machine is no reason for a test to fail
            **self._wishes,
        }


_SERVERS = {Part.REDIS: Server.REDIS, Part.POSTGRES: Server.POSTGRES, Part.CHROMA: Server.CHROMA}


def _kill(tops: list[psutil.Process]) -> None:
    """The top first: otherwise it would see its children die and say something, or start others in their place."""
    doomed = [each for top in tops for each in (top, *top.children(recursive=True))]
    for process in doomed:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    assert becomes_true(lambda: not any(map(is_alive, doomed)), GONE_WITHIN_S), doomed
