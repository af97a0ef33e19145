"""The three servers as one: a data folder in, URLs out.

In the data folder: `lock` (who owns it), `secrets`, `run` (what runs, and its configuration), `logs`, `postgres` (or
`postgres.location`, which says where the cluster is instead), `valkey`, `chroma`.
"""

import asyncio
import os
import shutil
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from app.infra.embedded import bootstrap, chroma, postgres, valkey
from app.infra.embedded.failures import EmbeddedError
from app.infra.embedded.leftovers import end_leftovers
from app.infra.embedded.lock import FolderLock
from app.infra.embedded.postgres import Durability
from app.infra.embedded.process import Child, Supervisor
from app.infra.embedded.secret_files import SecretFiles
from app.infra.embedded.starting import Recipe, Start

SHELF = Path("/var/lib/cairn")  # for what PostgreSQL's user must reach and can't where it is; used by root alone
LOGIN_ROLES = ("cairn_owner", "cairn_app", "cairn_log", "cairn_queue", "cairn_keys")


class Server(Enum):
    POSTGRES = "postgres"
    REDIS = "redis"
    CHROMA = "chroma"


@dataclass(frozen=True)
class Ports:
    """None: a free one, another at each start."""

    postgres: int | None = None
    redis: int | None = None
    chroma: int | None = None


@dataclass(frozen=True)
class Urls:
    """Named as the settings are. None where the server is somebody else's."""

    database: str | None = field(default=None, repr=False)
    database_owner: str | None = field(default=None, repr=False)
    database_log: str | None = field(default=None, repr=False)
    queue: str | None = field(default=None, repr=False)
    keys: str | None = field(default=None, repr=False)
    redis: str | None = field(default=None, repr=False)
    chroma: str | None = None


class Stack:
    """Started and stopped by one thread at a time, whichever it is."""

    def __init__(
        self,
        data: Path,
        *,
        ports: Ports | None = None,
        external: frozenset[Server] = frozenset(),
        durability: Durability = Durability.FULL,
        shelf: Path = SHELF,
    ) -> None:
        self.data = data.resolve()
        self.secrets = SecretFiles(self.data / "secrets")
        self.urls = Urls()
        self._ports = ports or Ports()
        self._external = external
        self._durability = durability
        self._shelf = shelf
        self._lock = FolderLock(self.data)
        self._supervisor: Supervisor | None = None
        self._admin_url: str | None = None

    @property
    def supervisor(self) -> Supervisor:
        """For the processes that use the servers, too: what is started with it is stopped before them."""
        if self._supervisor is None:
            raise EmbeddedError("the stack isn't running")
        return self._supervisor

    @property
    def admin_url(self) -> str:
        """PostgreSQL's superuser, for whom row-level security doesn't exist: for tests and repairs, never to serve."""
        if self._admin_url is None:
            raise EmbeddedError("no embedded PostgreSQL is running")
        return self._admin_url

    @property
    def folders(self) -> list[Path]:
        """Every folder with data in it: the data folder, and the cluster's where that has to be elsewhere."""
        base = postgres.cluster_base(self.data)
        return [self.data] if base is None or base.is_relative_to(self.data) else [self.data, base]

    def start(self) -> None:
        """Raises an EmbeddedError, after which nothing runs; FolderInUseError where another process owns the folder."""
        self._make_folders()
        self._lock.acquire()
        try:
            end_leftovers(self.data / "run")
            self._supervisor = Supervisor(self.data / "run")
            self._start_servers(self._supervisor)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> list[Child]:
        """Stop all that the supervisor has, services first. Returns what doesn't end: only Chroma can be in it."""
        lingering = [] if self._supervisor is None else self._supervisor.stop()
        self._supervisor, self._admin_url, self.urls = None, None, Urls()
        self._lock.release()
        return lingering

    def remove(self) -> None:
        """Delete the data folder and the cluster, wherever that is."""
        self._lock.acquire()
        for folder in reversed(self.folders):
            shutil.rmtree(folder)
        self._lock.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _make_folders(self) -> None:
        """A folder that exists keeps its mode. One that root makes lets PostgreSQL's user pass through; what is inside
        is closed, folder by folder.
        """
        if not self.data.exists():
            self.data.mkdir(parents=True)
            self.data.chmod(0o711 if os.geteuid() == 0 else 0o700)
        for name in ("secrets", "run", "logs", "valkey", "chroma"):
            (self.data / name).mkdir(mode=0o700, exist_ok=True)

    def _start_servers(self, supervisor: Supervisor) -> None:
        """Chroma and Valkey come up while the database is made, which takes longest by far."""
        recipes = ((Server.CHROMA, self._chroma), (Server.REDIS, self._valkey))
        starts = {server: Start(supervisor, make()) for server, make in recipes if server not in self._external}
        if Server.POSTGRES not in self._external:
            self._open_database(Start(supervisor, self._postgres()).finish())
        if Server.REDIS in starts:
            self.urls = replace(self.urls, redis=valkey.url(starts[Server.REDIS].finish(), self.secrets.keep("valkey")))
        if Server.CHROMA in starts:
            self.urls = replace(self.urls, chroma=chroma.url(starts[Server.CHROMA].finish()))

    def _postgres(self) -> Recipe:
        password = self.secrets.keep(postgres.SUPERUSER)
        cluster = postgres.open_cluster(self.data, password, self._shelf, self._durability)
        log = self.data / "logs" / "postgres.log"
        return Recipe(
            self._ports.postgres,
            lambda port, _attempt: postgres.program(cluster, port, log, self._durability),
            lambda child, _port: postgres.is_ready(cluster, child.pid),
            postgres.READY_WITHIN_S,
        )

    def _valkey(self) -> Recipe:
        password = self.secrets.keep("valkey")
        folder, run, log = self.data / "valkey", self.data / "run", self.data / "logs" / "valkey.log"
        return Recipe(
            self._ports.redis,
            lambda port, _attempt: valkey.program(folder, run, port, password, log),
            lambda _child, port: valkey.is_ready(port, password),
            valkey.READY_WITHIN_S,
        )

    def _chroma(self) -> Recipe:
        folder, run, log = self.data / "chroma", self.data / "run", self.data / "logs" / "chroma.log"
        return Recipe(
            self._ports.chroma,
            lambda port, attempt: chroma.program(folder, run, port, log, attempt),
            lambda _child, port: chroma.is_ready(port),
            chroma.READY_WITHIN_S,
        )

    def _open_database(self, port: int) -> None:
        passwords = {role: self.secrets.keep(role) for role in LOGIN_ROLES}
        admin_url = postgres.url(port, postgres.SUPERUSER, self.secrets.keep(postgres.SUPERUSER), "postgres")
        _run(bootstrap.prepare(admin_url, passwords))
        self._admin_url = admin_url
        self.urls = replace(
            self.urls,
            database=postgres.url(port, "cairn_app", passwords["cairn_app"], "cairn"),
            database_owner=postgres.url(port, "cairn_owner", passwords["cairn_owner"], "cairn"),
            database_log=postgres.url(port, "cairn_log", passwords["cairn_log"], "cairn"),
            queue=postgres.url(port, "cairn_queue", passwords["cairn_queue"], "cairn"),
            keys=postgres.url(port, "cairn_keys", passwords["cairn_keys"], "cairn_keys"),
        )


def start_for_tests(folder: Path) -> Stack:
    """All three, real, on free ports, safe against everything but a power cut. The caller stops and removes it."""
    stack = Stack(folder, durability=Durability.TESTS)
    stack.start()
    return stack


def _run(work: Coroutine[None, None, None]) -> None:
    """In a thread of its own, since the caller's may have an event loop that runs."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, work).result()
