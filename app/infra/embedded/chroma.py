"""The embedded Chroma server: its configuration, two ways to start it, and whether it answers."""

import http.client
import importlib.metadata
import importlib.util
import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from app.infra.embedded.command import plain_environment
from app.infra.embedded.ending import Ending
from app.infra.embedded.failures import MissingBinaryError
from app.infra.embedded.ports import LOOPBACK
from app.infra.embedded.process import Program, Tier
from app.infra.embedded.secret_files import write_private

READY_WITHIN_S = 60
STOP_WITHIN_S = 30
ANSWER_WITHIN_S = 2
OPEN_INDEXES = 300  # collections kept in memory: about 1 GB and 1,200 file descriptors at most
LARGEST_REQUEST_BYTES = 40 * 1024 * 1024
DATABASE = "chroma.sqlite3"
KNOWN_VERSION = "1.5.9"  # whose bindings were seen to have the command line in them
BINDINGS = "import sys, chromadb_rust_bindings as chroma; chroma.cli(sys.argv[1:])"


def program(folder: Path, run_folder: Path, port: int, log: Path, attempt: int) -> Program:
    """The first attempt calls the command line inside the bindings (0.1 s, 40 MB, undocumented); the later ones, and
    all with a version that wasn't tried, run `chroma` itself (over 1 s, 110 MB). Where the first one found the
    database unreadable, all of it goes: everything in it is built anew from PostgreSQL, and nothing starts with it.
    """
    if attempt and _is_unreadable(folder / DATABASE):
        shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
    configuration = run_folder / "chroma.yaml"
    write_private(configuration, _configuration(folder, port))
    return Program(
        name="chroma",
        command=(*_command(attempt), "run", str(configuration)),
        tier=Tier.STORE,
        ending=Ending(within_s=STOP_WITHIN_S, last_resort=None),
        log=log,
        # A file that it can't read makes Chroma listen everywhere and write where it stands: said twice, therefore
        environment=plain_environment() | {"CHROMA_LISTEN_ADDRESS": LOOPBACK, "CHROMA_PERSIST_PATH": str(folder)},
        folder=str(folder),
    )


def is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request("GET", "/api/v2/heartbeat")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}"


def _command(attempt: int) -> tuple[str, ...]:
    if importlib.util.find_spec("chromadb_rust_bindings") is None:
        raise MissingBinaryError("no Chroma: install the package chromadb, or name a server with CAIRN_CHROMA_URL")
    if attempt == 0 and importlib.metadata.version("chromadb") == KNOWN_VERSION:
        return (sys.executable, "-P", "-c", BINDINGS, "chroma")
    beside = Path(sys.executable).with_name("chroma")
    if found := (str(beside) if beside.exists() else shutil.which("chroma")):
        return (found,)
    return (sys.executable, "-P", "-c", "from chromadb.cli.cli import app; app()")


def _is_unreadable(database: Path) -> bool:
    if not database.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("SELECT count(*) FROM collections").fetchone()
    except sqlite3.OperationalError:  # locked, or of another version: no damage
        return False
    except sqlite3.DatabaseError:
        return True
    return False


def _configuration(folder: Path, port: int) -> str:
    """JSON, which is YAML. Telemetry is off where `open_telemetry` is absent. docker-compose.yml has the same.

    One shard: with several, each evicts by itself, long before all are full together. An evicted index comes back from
    the disk alone, so collections must be made with a sync_threshold small enough that it is there.
    """
    indexes = {"memory": {"capacity": OPEN_INDEXES, "shards": 1, "eviction": "lru"}}
    settings = {
        "port": port,
        "listen_address": LOOPBACK,
        "max_payload_size_bytes": LARGEST_REQUEST_BYTES,
        "cors_allow_origins": [],
        "persist_path": str(folder),
        "allow_reset": False,
        "sqlitedb": {"hash_type": "md5", "migration_mode": "apply"},
        "sysdb": {"sqlite": {"log_topic_namespace": "default", "log_tenant": "default"}},
        "segment_manager": {"hnsw_index_pool_cache_config": indexes},
    }
    return json.dumps(settings, ensure_ascii=False, indent=2)
