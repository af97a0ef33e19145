"""`cairn up`: the servers, the migrations, the API and the worker as one, on this machine, until Ctrl-C."""

import http.client
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from app.infra.crypto.master import MasterKeys
from app.infra.db import migrations
from app.infra.embedded.failures import EmbeddedError
from app.infra.embedded.ports import is_free
from app.infra.embedded.process import Child, Program, StopRequest
from app.infra.embedded.secret_files import write_private
from app.infra.embedded.stack import Ports, Server, Stack

LOOPBACK = "127.0.0.1"
READY_WITHIN_S = 60
RUNNING_FILE = "run/environment.json"
# What a user's own token may do: everything but an operator's work. The bare name of a kind: read and write.
USER_SCOPES = "sessions memories profile preferences preferences:explicit knowledge context audit export forget"


@dataclass(frozen=True)
class Ask:
    """What `up` is asked for: where the data is, which ports, and what is somebody else's (by environment variable)."""

    data: Path
    port: int
    given: Mapping[str, str]


def external_servers(given: Mapping[str, str]) -> frozenset[Server]:
    """Return the servers that the environment names: they are used instead of embedded ones."""
    named = {
        "CAIRN_DATABASE_URL": Server.POSTGRES,
        "CAIRN_REDIS_URL": Server.REDIS,
        "CAIRN_CHROMA_URL": Server.CHROMA,
    }
    return frozenset(server for name, server in named.items() if given.get(name))


def run(ask: Ask, say: Callable[[str], None], greet: Callable[[Mapping[str, str]], str]) -> int:
    """Start everything, say how to use it, and stay until a stop is asked for. Returns the exit status.

    `greet` makes the words that are printed once the API answers, from the environment of its process.
    """
    stop = StopRequest().listen()
    began = time.monotonic()
    stack = Stack(ask.data, ports=_ports(ask.given), external=external_servers(ask.given))
    try:
        _require_free(ask.port)
        stack.start()
        environment = child_environment(stack, ask)
        with _noted(stack, environment):
            fallen = _serve(stack, ask, environment, stop, lambda: _greet(say, greet(environment), stack, began))
    except EmbeddedError as error:
        say(f"cairn up: {error}")
        return 1
    finally:
        for child in stack.stop():
            say(f"cairn up: {child.program.name} (pid {child.pid}) hasn't ended yet; it is left to end by itself")
    if fallen is not None:
        say(f"cairn up: {fallen.program.name} ended with status {fallen.process.returncode}; everything was stopped")
        return 1
    return 0


def _serve(
    stack: Stack,
    ask: Ask,
    environment: Mapping[str, str],
    stop: StopRequest,
    ready: Callable[[], None],
) -> Child | None:
    """Migrate, start the worker and the API, and stay. Returns the process that ended by itself, None after a stop."""
    migrations.upgrade(environment["CAIRN_DATABASE_OWNER_URL"], environment["CAIRN_KEYS_URL"])
    supervisor = stack.supervisor
    supervisor.spawn(_program("worker", stack, environment))
    api = supervisor.spawn(_program("serve", stack, environment))
    supervisor.await_ready(api, lambda: _answers(ask.port) or stop(), READY_WITHIN_S)
    if not stop():
        ready()
    return supervisor.watch(stop)


def _greet(say: Callable[[str], None], greeting: str, stack: Stack, began: float) -> None:
    say(greeting)
    took_s = time.monotonic() - began
    say(f"Ready after {took_s:.1f} s. Data and logs are in {stack.data}. Ctrl-C stops everything.")


def _require_free(port: int) -> None:
    """Raise an EmbeddedError where something listens on the port: it would answer in the API's place."""
    if not is_free(port):
        raise EmbeddedError(f"port {port} is taken: set another by CAIRN_PORT, or stop what listens there")


def child_environment(stack: Stack, ask: Ask) -> dict[str, str]:
    """Return the environment of the API and the worker: what is given, and URLs and secrets for what isn't."""
    urls = stack.urls
    made = {
        "CAIRN_DATABASE_URL": urls.database,
        "CAIRN_DATABASE_OWNER_URL": urls.database_owner,
        "CAIRN_DATABASE_LOG_URL": urls.database_log,
        "CAIRN_QUEUE_URL": urls.queue,
        "CAIRN_KEYS_URL": urls.keys,
        "CAIRN_REDIS_URL": urls.redis,
        "CAIRN_CHROMA_URL": urls.chroma,
        "CAIRN_CHROMA_FOLDER": str(stack.data / "chroma") if urls.chroma else None,
        "CAIRN_DATA_DIR": str(stack.data),
        "CAIRN_PORT": str(ask.port),
        "CAIRN_DEFAULT_SCOPES": USER_SCOPES,
    }
    environment = {**os.environ, **{name: value for name, value in made.items() if value is not None}, **ask.given}
    if "CAIRN_AUTH_SECRET" not in environment and "CAIRN_AUTH_JWKS_URL" not in environment:
        # Hexadecimal: it begins with no dash, so that it can stand on a command line as it is.
        environment["CAIRN_AUTH_SECRET"] = stack.secrets.keep("auth_secret", lambda: secrets.token_hex(32))
    if "CAIRN_MASTER_KEY" not in environment:
        environment["CAIRN_MASTER_KEY"] = stack.secrets.keep("master_key", lambda: MasterKeys.generate("k1"))
    missing = [name for name in ("CAIRN_DATABASE_OWNER_URL", "CAIRN_KEYS_URL") if name not in environment]
    if missing:
        raise EmbeddedError(f"with a PostgreSQL of your own, set {' and '.join(missing)} too")
    return environment


@contextmanager
def _noted(stack: Stack, environment: Mapping[str, str]) -> Iterator[None]:
    """Write down what the processes run with, for the other commands here (mode 0600, gone after the stop)."""
    noted = {name: value for name, value in environment.items() if name.startswith("CAIRN_")}
    write_private(stack.data / RUNNING_FILE, json.dumps(noted))
    try:
        yield
    finally:
        (stack.data / RUNNING_FILE).unlink(missing_ok=True)


def _ports(given: Mapping[str, str]) -> Ports:
    def port(name: str) -> int | None:
        return int(given[name]) if given.get(name) else None

    return Ports(port("CAIRN_POSTGRES_PORT"), port("CAIRN_REDIS_PORT"), port("CAIRN_CHROMA_PORT"))


def _program(command: str, stack: Stack, environment: Mapping[str, str]) -> Program:
    return Program(
        name=command,
        command=(sys.executable, "-m", "app.cli", command),
        environment=environment,
        log=stack.data / "logs" / f"{command}.log",
    )


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
