"""The three servers, as one who uses them sees them: they answer, on loopback only, and keep what they were given."""

import http.client
import importlib.metadata
import json
import time
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import psutil
import pytest
import redis
import yaml  # type: ignore[import-untyped] # its types are a package of their own, for one test
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.infra.embedded.failures import EmbeddedError
from app.infra.embedded.ports import free_port
from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Ports, Server, Stack

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


async def who_and_where(url: str | None) -> tuple[str, str]:
    connection = await asyncpg.connect(url, ssl=False)
    try:
        row = await connection.fetchrow("SELECT current_user::text, current_database()::text")
        assert row
        return row[0], row[1]
    finally:
        await connection.close()


def valkey(stack: Stack) -> "redis.Redis":
    assert stack.urls.redis
    return redis.Redis.from_url(stack.urls.redis)


def chroma(stack: Stack, method: str, path: str, body: object = None) -> object:
    assert stack.urls.chroma
    connection = http.client.HTTPConnection(urlsplit(stack.urls.chroma).netloc, timeout=10)
    connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status < http.HTTPStatus.BAD_REQUEST, text
    return json.loads(text)


async def test_each_url_leads_to_its_role_and_database(servers: Stack) -> None:
    urls = servers.urls
    assert await who_and_where(urls.database) == ("cairn_app", "cairn")
    assert await who_and_where(urls.database_owner) == ("cairn_owner", "cairn")
    assert await who_and_where(urls.database_log) == ("cairn_log", "cairn")
    assert await who_and_where(urls.queue) == ("cairn_queue", "cairn")
    assert await who_and_where(urls.keys) == ("cairn_keys", "cairn_keys")


def test_valkey_wants_its_password(servers: Stack) -> None:
    assert valkey(servers).ping()
    port = urlsplit(servers.urls.redis or "").port
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=port or 0, retry=Retry(NoBackoff(), retries=0)).ping()


def test_chroma_answers_and_keeps_at_most_its_number_of_indexes_open(servers: Stack) -> None:
    assert "nanosecond heartbeat" in str(chroma(servers, "GET", "/api/v2/heartbeat"))
    settings = json.loads((servers.data / "run" / "chroma.yaml").read_text(encoding="utf-8"))
    assert settings["segment_manager"]["hnsw_index_pool_cache_config"]["memory"]["capacity"] == 300
    assert "open_telemetry" not in settings


def test_everything_listens_on_loopback_alone(servers: Stack) -> None:
    for child in servers.supervisor.children:
        server = psutil.Process(child.pid)
        for process in (server, *server.children(recursive=True)):
            assert not any(socket.laddr for socket in process.net_connections(kind="unix"))
            for connection in process.net_connections(kind="inet"):
                if connection.status == psutil.CONN_LISTEN:
                    assert connection.laddr[0] == "127.0.0.1", child.program.name


def test_no_secret_is_on_a_command_line(servers: Stack) -> None:
    secrets = {file.read_text(encoding="utf-8") for file in (servers.data / "secrets").iterdir()}
    for child in servers.supervisor.children:
        line = " ".join(psutil.Process(child.pid).cmdline())
        assert not [secret for secret in secrets if secret in line]


async def test_lower_knows_more_than_ascii(servers: Stack) -> None:
    connection = await asyncpg.connect(servers.urls.database, ssl=False)
    assert await connection.fetchval("SELECT lower('ÄÉÎΣЖ')") == "äéîσж"
    assert await connection.fetchval("SHOW data_checksums") == "on"
    await connection.close()


async def test_a_restart_finds_all_data(tmp_path: Path, shelf: Path) -> None:
    stack, name = Stack(tmp_path / "data", durability=Durability.TESTS, shelf=shelf), f"c{uuid4().hex}"
    stack.start()
    owner = await asyncpg.connect(stack.urls.database_owner, ssl=False)
    await owner.execute("CREATE TABLE kept (it text); INSERT INTO kept VALUES ('still here')")
    await owner.close()
    valkey(stack).set("kept", "still here")
    collection = chroma(stack, "POST", COLLECTIONS, {"name": name})
    assert isinstance(collection, dict)
    vectors = {"ids": ["one"], "embeddings": [[0.5, 0.5]]}
    chroma(stack, "POST", f"{COLLECTIONS}/{collection['id']}/upsert", vectors)
    stack.stop()

    began = time.monotonic()
    with stack:
        assert time.monotonic() - began < 10
        owner = await asyncpg.connect(stack.urls.database_owner, ssl=False)
        assert await owner.fetchval("SELECT it FROM kept") == "still here"
        await owner.close()
        assert valkey(stack).get("kept") == b"still here"
        assert chroma(stack, "GET", f"{COLLECTIONS}/{collection['id']}/count") == 1
    folders = stack.folders
    stack.remove()
    assert not any(folder.exists() for folder in folders)


def test_ports_are_used_when_set_and_a_taken_one_is_said(tmp_path: Path, servers: Stack) -> None:
    external, port = frozenset({Server.POSTGRES, Server.CHROMA}), free_port()
    with Stack(tmp_path, ports=Ports(redis=port), external=external) as stack:
        assert urlsplit(stack.urls.redis or "").port == port
        assert (stack.urls.database, stack.urls.chroma) == (None, None)
        assert [child.program.name for child in stack.supervisor.children] == ["valkey"]

    taken = urlsplit(servers.urls.redis or "").port
    with pytest.raises(EmbeddedError, match=f"port {taken} is taken"):
        Stack(tmp_path, ports=Ports(redis=taken), external=external).start()


def test_chroma_starts_with_its_own_command_where_the_bindings_fail(tmp_path: Path) -> None:
    from app.infra.embedded import chroma as server  # noqa: PLC0415 (the name is taken by a helper above)
    from app.infra.embedded.process import Supervisor  # noqa: PLC0415

    port, supervisor = free_port(), Supervisor(tmp_path)
    program = server.program(tmp_path, tmp_path, port, tmp_path / "log", attempt=1)
    assert server.BINDINGS not in program.command
    supervisor.start(program, lambda: server.is_ready(port), within_s=60)
    assert supervisor.stop() == []


def test_chroma_starts_where_its_database_was_destroyed_for_it_is_built_anew_anyway(tmp_path: Path) -> None:
    data = tmp_path / "data"
    external = frozenset({Server.POSTGRES, Server.REDIS})
    with Stack(data, external=external) as stack:
        chroma(stack, "POST", COLLECTIONS, {"name": "lost"})
    (data / "chroma" / "chroma.sqlite3").write_bytes(b"not a database" * 1_000)
    with Stack(data, external=external) as stack:
        assert chroma(stack, "GET", COLLECTIONS) == []


def test_chroma_is_configured_the_same_in_containers(servers: Stack) -> None:
    embedded = json.loads((servers.data / "run" / "chroma.yaml").read_text(encoding="utf-8"))
    composed = yaml.safe_load(Path("docker-compose.yml").read_text(encoding="utf-8"))
    in_container = yaml.safe_load(composed["configs"]["chroma"]["content"])
    own = {"port", "listen_address", "persist_path"}
    assert {name: value for name, value in in_container.items() if name not in own} == {
        name: value for name, value in embedded.items() if name not in own
    }
    assert composed["services"]["chroma"]["configs"] == [{"source": "chroma", "target": "/config.yaml"}]
    assert composed["services"]["chroma"]["image"].endswith(f":{importlib.metadata.version('chromadb')}")


def test_with_every_server_external_nothing_is_started(tmp_path: Path) -> None:
    with Stack(tmp_path / "data", external=frozenset(Server)) as stack:
        assert stack.supervisor.children == []
        with pytest.raises(EmbeddedError):
            _ = stack.admin_url
