"""The vault: one reference for a subject however many ask, keys that rotate, keys that are destroyed for good."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
from alembic import command
from alembic.config import Config

from app.core.errors import AppError
from app.core.scope import Scope, Subject
from app.infra.crypto.box import Place
from app.infra.crypto.master import MasterKeyError, MasterKeys
from app.infra.embedded.bootstrap import drop_database, on_database
from app.infra.embedded.stack import Stack
from app.infra.keys.rotation import rewrap_all
from app.infra.keys.store import KeyStore, open_pool
from app.infra.keys.vault import SETTLE_S, Vault, open_vault
from app.settings import Settings
from app.wiring import Wiring

MakeScope = Callable[..., Awaitable[Scope]]
PLACE = Place("things", "value_sealed", uuid.uuid4())
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def own_store(stack: Stack) -> AsyncIterator[KeyStore]:
    """A key store of the test's own, migrated and empty."""
    name = f"keys_{uuid.uuid4().hex[:8]}"
    admin = await asyncpg.connect(stack.admin_url)
    await admin.execute(f"CREATE DATABASE {name} OWNER cairn_keys TEMPLATE template0")
    await admin.close()
    url = on_database(stack.urls.keys or "", name)
    config = Config(str(ROOT / "alembic.ini"), ini_section="keys")
    config.set_main_option("sqlalchemy.url", url)
    await asyncio.to_thread(command.upgrade, config, "head")
    store = KeyStore(await open_pool(url, 4))
    yield store
    await store.close()
    await drop_database(stack.admin_url, name)


def subject() -> Subject:
    """Return somebody new."""
    return Subject("issuer", "tenant", uuid.uuid4().hex)


async def test_of_ten_that_ask_at_once_all_get_one_reference(wiring: Wiring) -> None:
    someone = subject()
    entries = await asyncio.gather(*(wiring.vault.create(someone) for _ in range(10)))
    assert len({entry.usr for entry in entries}) == 1


async def test_parts_of_a_subject_do_not_run_into_each_other(wiring: Wiring) -> None:
    made = await wiring.vault.create(Subject("a", "bc", "d" + (tail := uuid.uuid4().hex)))
    assert await wiring.vault.reference(Subject("ab", "c", "d" + tail)) is None
    assert await wiring.vault.reference(Subject("a", "bc", "d" + tail)) == made.usr


async def opened(settings: Settings) -> Vault:
    """Return the vault of another process."""
    store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 1))
    return await open_vault(store, MasterKeys.parse(settings.master_key.get_secret_value()))


async def settle(settings: Settings, usr: uuid.UUID) -> None:
    """Have a user's keys be as old as they must be for every process to know them."""
    connection = await asyncpg.connect(settings.keys_url.get_secret_value())
    await connection.execute(
        "UPDATE data_keys SET created_at = now() - make_interval(secs => $2) WHERE usr = $1", usr, SETTLE_S
    )
    await connection.close()


async def test_what_was_sealed_before_a_rotation_opens_after_it(
    wiring: Wiring, settings: Settings, scope: MakeScope
) -> None:
    alice = await scope()
    before = await wiring.vault.box(alice.usr)
    sealed = before.seal(b"a value", PLACE)
    assert await wiring.vault.rotate(alice.usr) == 2
    await settle(settings, alice.usr)
    after = await (await opened(settings)).box(alice.usr)
    assert after.open(sealed, PLACE) == b"a value"
    assert not after.is_current(sealed)
    assert after.tag("purpose", "text") == before.tag("purpose", "text")


async def test_nobody_seals_under_a_key_that_another_process_does_not_know_yet(
    wiring: Wiring, settings: Settings, scope: MakeScope
) -> None:
    alice = await scope()
    serving = await wiring.vault.box(alice.usr)
    other = await opened(settings)
    assert await other.rotate(alice.usr) == 2
    assert serving.open((await other.box(alice.usr)).seal(b"a value", PLACE), PLACE) == b"a value"


async def test_a_revocation_is_not_taken_back_by_an_earlier_one(wiring: Wiring) -> None:
    someone, now = subject(), datetime.now(UTC)
    made = await wiring.vault.create(someone)
    for moment in (now, now - timedelta(hours=1)):
        await wiring.vault.revoke_issued_before(made.usr, moment)
    entry, _ = await wiring.vault.find(someone)
    assert entry is not None
    assert entry.issued_before == now


async def test_a_key_store_without_room_is_unavailable_and_no_fault_of_ours(own_store: KeyStore, stack: Stack) -> None:
    admin = await asyncpg.connect(stack.admin_url)
    name = await admin.fetchval("SELECT max(datname) FROM pg_database WHERE datname LIKE 'keys\\_%'")
    await admin.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
    await admin.close()
    with pytest.raises(AppError, match="store_unavailable"):
        await own_store.ping()


async def test_destroyed_keys_are_gone_for_good(wiring: Wiring) -> None:
    someone = subject()
    entry = await wiring.vault.create(someone)
    await wiring.vault.box(entry.usr)
    assert await wiring.vault.destroy(entry.usr, timedelta(hours=1), stop=False) == 2
    with pytest.raises(AppError, match="erased"):
        await wiring.vault.box(entry.usr)
    with pytest.raises(AppError, match="erased"):
        await wiring.vault.rotate(entry.usr)
    assert await wiring.vault.remaining(entry.usr) == 0
    assert await wiring.vault.reference(someone) is None
    assert await wiring.vault.destroy(entry.usr, timedelta(hours=1), stop=False) == 0


async def test_who_comes_back_has_another_reference_and_other_keys(wiring: Wiring) -> None:
    someone = subject()
    first = await wiring.vault.create(someone)
    sealed = (await wiring.vault.box(first.usr)).seal(b"a value", PLACE)
    await wiring.vault.destroy(first.usr, timedelta(hours=1), stop=False)
    second = await wiring.vault.create(someone)
    assert second.usr != first.usr
    with pytest.raises(Exception, match="another user"):
        (await wiring.vault.box(second.usr)).open(sealed, PLACE)


async def test_a_master_key_is_rotated_and_the_old_one_is_needed_no_more(own_store: KeyStore) -> None:
    old, new = MasterKeys.generate("old"), MasterKeys.generate("new")
    vault = await open_vault(own_store, MasterKeys.parse(old))
    entry = await vault.create(subject())
    sealed = (await vault.box(entry.usr)).seal(b"a value", PLACE)
    assert await rewrap_all(own_store, MasterKeys.parse(f"{new},{old}")) == 4
    assert await rewrap_all(own_store, MasterKeys.parse(f"{new},{old}")) == 0
    later = await open_vault(own_store, MasterKeys.parse(new))
    assert (await later.box(entry.usr)).open(sealed, PLACE) == b"a value"
    with pytest.raises(MasterKeyError, match="new"):
        await open_vault(own_store, MasterKeys.parse(old))


async def test_a_lost_master_key_is_a_clear_error(own_store: KeyStore) -> None:
    await open_vault(own_store, MasterKeys.parse(MasterKeys.generate("k1")))
    with pytest.raises(MasterKeyError, match="missing is k1"):
        await open_vault(own_store, MasterKeys.parse(MasterKeys.generate("k2")))
    with pytest.raises(MasterKeyError, match="isn't the one"):
        await open_vault(own_store, MasterKeys.parse(MasterKeys.generate("k1")))


async def test_no_subject_stands_in_the_store(wiring: Wiring, stack: Stack) -> None:
    someone = Subject("issuer-quetzal", "tenant-quetzal", "sub-quetzal")
    await wiring.vault.create(someone)
    connection = await asyncpg.connect(stack.urls.keys)
    try:
        for table in ("subjects", "data_keys", "index_secrets", "erasures", "secrets", "revocations"):
            rows = await connection.fetch(f"SELECT t::text AS line FROM {table} t")  # noqa: S608 - names from above
            assert not any("quetzal" in row["line"] for row in rows)
    finally:
        await connection.close()
