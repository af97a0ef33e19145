"""A backup that is restored brings nobody back: their text is unreadable, and the register erases what came with it."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pydantic import SecretStr

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Actor, Scope, Subject
from app.infra.db import migrations
from app.infra.embedded import bootstrap
from app.infra.embedded.bootstrap import create_database_from_template, drop_database, on_database
from app.infra.embedded.stack import Stack, start_for_tests
from app.infra.keys.vault import WrongKeyStoreError
from app.settings import Settings
from app.wiring import build

BACKUP = "cairn_backup"
DATA_URLS = ("database_url", "database_owner_url", "database_log_url", "queue_url")


@pytest.fixture
def own_stack() -> Iterator[Stack]:
    """Servers of this test's own: it copies a whole database, to which nobody may be connected meanwhile."""
    with TemporaryDirectory(prefix="cairn-restore-") as folder:
        Path(folder).chmod(0o755)
        running = start_for_tests(Path(folder) / "data")
        try:
            yield running
        finally:
            running.stop()
            running.remove()


async def test_yesterdays_backup_brings_nobody_back(own_stack: Stack, settings: Settings) -> None:
    """The backup is of the data's database. The key store is backed up apart and is as it was after the erasure."""
    urls = own_stack.urls
    here = settings.model_copy(
        update={
            "database_url": secret(urls.database),
            "database_owner_url": secret(urls.database_owner),
            "database_log_url": secret(urls.database_log),
            "queue_url": secret(urls.queue),
            "keys_url": secret(urls.keys),
            "redis_url": secret(urls.redis),
            "chroma_url": urls.chroma,
        }
    )
    await asyncio.to_thread(migrations.upgrade, urls.database_owner or "", urls.keys or "")
    async with build(here) as today:
        usr = await today.directory.enter(Subject("", "acme", "alice"), int(time.time()), None)
        alice = Scope("acme", usr, None)
        async with today.db.remember(alice) as tx:
            await tx.next_change(AuditEntry("touch", "user"))
    await create_database_from_template(own_stack.admin_url, "cairn", BACKUP)
    async with build(here) as today:
        await today.erasures.forget(alice)
        await today.erasures.proceed(alice)  # on a busy machine it isn't done in the time of a request
        assert (await today.erasures.read(alice)).state == "done"

    restored = here.model_copy(update={name: moved(getattr(here, name)) for name in DATA_URLS})
    async with build(restored) as tomorrow:
        with pytest.raises(AppError, match="erased"):
            await tomorrow.vault.box(usr)
        assert await tomorrow.db.living([usr]) == [("acme", usr)]
        assert await tomorrow.erasures.apply_register() == 1
        assert await tomorrow.erasures.apply_register() == 0
        worker = Scope("acme", usr, None, Actor.WORKER)
        await tomorrow.erasures.proceed(worker)
        assert (await tomorrow.erasures.verify(worker)).clean
        assert await tomorrow.db.living([usr]) == []


async def test_another_key_store_than_the_datas_is_refused(own_stack: Stack, settings: Settings) -> None:
    """A lost key store that was made anew would let every user silently begin from nothing."""
    urls = own_stack.urls
    await asyncio.to_thread(migrations.upgrade, urls.database_owner or "", urls.keys or "")
    here = settings.model_copy(
        update={
            "database_url": secret(urls.database),
            "database_log_url": secret(urls.database_log),
            "keys_url": secret(urls.keys),
        }
    )
    async with build(here) as today:
        usr = await today.directory.enter(Subject("", "acme", "alice"), int(time.time()), None)
    await create_database_from_template(own_stack.admin_url, "cairn_keys", "keys_backup")
    await drop_database(own_stack.admin_url, "cairn_keys")
    await bootstrap.prepare(own_stack.admin_url, {})
    await asyncio.to_thread(migrations.upgrade, urls.database_owner or "", urls.keys or "")
    with pytest.raises(WrongKeyStoreError):
        async with build(here):
            pass
    restored = here.model_copy(update={"keys_url": secret(on_database(urls.keys or "", "keys_backup"))})
    async with build(restored) as again:
        assert await again.directory.enter(Subject("", "acme", "alice"), int(time.time()), None) == usr
        assert (await again.vault.box(usr)).usr == usr


def secret(url: str | None) -> SecretStr:
    """Hide a URL, as the settings do."""
    assert url is not None
    return SecretStr(url)


def moved(url: SecretStr) -> SecretStr:
    """Return the URL of the restored database."""
    return SecretStr(on_database(url.get_secret_value(), BACKUP))
