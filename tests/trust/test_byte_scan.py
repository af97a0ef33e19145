"""Nothing that a user said stands readable in any file: before they are forgotten, afterwards, and after a restart."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from app.infra.embedded.postgres import SUPERUSER
from tests.trust.planting import CARD, CHINESE, MASK, SHOWN, WORD, ask, await_indexed, plant, provoke, read_all
from tests.trust.running import MODULE_TIMEOUT_S, Installation, Running, is_alive
from tests.trust.scanner import Finding, forms, in_base64, scan, scan_bytes

WORDS = (WORD, CHINESE, CARD)

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("form", sorted(forms(WORD)))
def test_the_scanner_finds_a_word_in_each_form(tmp_path: Path, word: str, form: str) -> None:
    planted = {name: make(word) for name, make in WRITERS.items()}[form]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"\xff" * 1000 + planted + b"\x00" * 10)
    assert {finding.word for finding in scan([tmp_path], WORDS)} == {word}


def _base64(offset: int, alphabet: bytes) -> Callable[[str], bytes]:
    return lambda word: in_base64(word.encode(), offset).translate(bytes.maketrans(b"+/", alphabet))


WRITERS: dict[str, Callable[[str], bytes]] = {
    "UTF-8": lambda word: word.upper().encode(),
    "UTF-16 LE": lambda word: f"x{word}".encode("utf-16-le"),
    "UTF-16 BE": lambda word: f"x{word}".encode("utf-16-be"),
    "JSON": lambda word: word.encode("ascii", "backslashreplace"),
    "percent": lambda word: b"".join(b"%%%02X" % each if each > 127 else bytes([each]) for each in word.encode()),
    "hexadecimal": lambda word: word.encode().hex().upper().encode(),
    **{f"base64 at {each}": _base64(each, b"+/") for each in range(3)},
    **{f"URL-safe base64 at {each}": _base64(each, b"-_") for each in range(3)},
}


def test_what_a_user_says_is_readable_nowhere(installation: Installation, up: Running, tenant: str) -> None:
    with up.client(f"{SHOWN}-{CHINESE}@example.org", tenant) as gone, up.client(f"{WORD}-stays", tenant) as stays:
        for number, client in enumerate((gone, stays)):
            plant(client, number)
            provoke(client)
        for client in (gone, stays):
            await_indexed(client)
            ask(client)
            seen = read_all(client)
            assert CARD not in seen
            assert seen.count(MASK) > 50
        assert look(installation) == []
        assert scan(installation.data_folders(), [tenant]), "the scanner sees nothing of what is written"
        assert scan_bytes(rows(installation), WORDS, "rows") == []
        forgotten = gone.delete("/v1/users/me")
        assert forgotten.status_code == 200, forgotten.text
        assert look(installation) == []
    processes = up.tree()
    assert installation.stop() == 0
    assert not any(map(is_alive, processes))
    assert look(installation) == []
    with installation.start().client(f"{WORD}-stays", tenant) as stays:
        ask(stays)
    assert look(installation) == []


def look(installation: Installation) -> list[Finding]:
    """Scan every folder with data in it, and what the processes have printed."""
    return scan([*installation.data_folders(), installation.folder], WORDS)


def rows(installation: Installation) -> bytes:
    """Return every row of every table of both databases as text, as PostgreSQL's superuser sees them.

    In its files a long value is compressed: there a scan of bytes could miss it.
    """
    return asyncio.run(_rows(installation))


async def _rows(installation: Installation) -> bytes:
    password = (installation.data / "secrets" / SUPERUSER).read_text(encoding="utf-8")
    found: list[bytes] = []
    for name in ("CAIRN_DATABASE_URL", "CAIRN_KEYS_URL"):
        connection = await asyncpg.connect(installation.environment()[name], user=SUPERUSER, password=password)
        try:
            tables = await connection.fetch(
                "SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
            )
            for table in tables:
                shown = await connection.fetch(f"SELECT t::text AS row FROM {table['name']} t")  # noqa: S608 - from the catalogue
                found += [row["row"].encode() for row in shown]
        finally:
            await connection.close()
    assert len(found) > 100
    return b"\n".join(found)
