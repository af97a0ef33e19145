"""The rows of the key store. Values are wrapped by the master key before they come here.

A key is flushed here before its user's first row is written elsewhere; destroying it is one transaction here.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from app.core.errors import AppError
from app.infra.db.engine import UNREACHABLE

CONNECT_TIMEOUT_S = 3
# Every request waits for it, and every question is a small one.
COMMAND_TIMEOUT_S = 3
POOL_WAIT_S = 3


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A secret as it is stored: what the master key made of it, and which master key."""

    value: bytes
    master_id: str


@dataclass(frozen=True, slots=True)
class DataKey:
    """One version of a user's data key, and whether every process knows it by now."""

    version: int
    wrapped: Wrapped
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """What the store knows of a subject: the reference, and whether the user's first row is known to be written."""

    usr: UUID
    registered: bool
    # Tokens issued up to this time are revoked.
    issued_before: datetime | None


@dataclass(frozen=True, slots=True)
class Erasure:
    """The mark that an erasure left for a subject: which reference, when, and whether the user wanted no new
    beginning.
    """

    usr: UUID
    erased_at: datetime
    stop: bool


class KeyStore:
    """The key database, by its pool."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        """Take a pool that `open_pool` made."""
        self._pool = pool

    async def secret(self, name: str, fresh: Wrapped) -> Wrapped:
        """Return the installation's secret of that name; the first caller's `fresh` one becomes it."""
        async with self._connection() as connection:
            await connection.execute(
                "INSERT INTO secrets (name, value, master_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                name,
                fresh.value,
                fresh.master_id,
            )
            row = _one(await connection.fetchrow("SELECT value, master_id FROM secrets WHERE name = $1", name))
        return Wrapped(row["value"], row["master_id"])

    async def find(self, subject_tag: bytes) -> tuple[Entry | None, Erasure | None]:
        """Return the subject's entry and the mark of its last erasure, each None where there is none."""
        async with self._connection() as connection:
            found = await connection.fetchrow(
                "SELECT s.usr, s.registered, s.issued_before, e.usr AS erased, e.erased_at, e.stop"
                " FROM (SELECT $1::bytea AS tag) q LEFT JOIN subjects s ON s.subject_tag = q.tag"
                " LEFT JOIN LATERAL (SELECT usr, erased_at, stop FROM erasures WHERE subject_tag = q.tag"
                " ORDER BY erased_at DESC LIMIT 1) e ON true",
                subject_tag,
            )
        row = _one(found)
        entry = Entry(row["usr"], row["registered"], row["issued_before"]) if row["usr"] else None
        return entry, Erasure(row["erased"], row["erased_at"], row["stop"]) if row["erased"] else None

    async def create(self, subject_tag: bytes, usr: UUID, data_key: Wrapped, index_secret: Wrapped) -> Entry:
        """Make the subject's entry with its keys. Of several at once one wins, and all get the winner's."""
        async with self._connection() as connection, connection.transaction():
            made = await connection.fetchval(
                "INSERT INTO subjects (subject_tag, usr) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING usr",
                subject_tag,
                usr,
            )
            if made is not None:
                await connection.execute(
                    "INSERT INTO data_keys (usr, version, value, master_id) VALUES ($1, 1, $2, $3)",
                    usr,
                    data_key.value,
                    data_key.master_id,
                )
                await connection.execute(
                    "INSERT INTO index_secrets (usr, value, master_id) VALUES ($1, $2, $3)",
                    usr,
                    index_secret.value,
                    index_secret.master_id,
                )
                return Entry(usr, registered=False, issued_before=None)
        entry, _ = await self.find(subject_tag)
        if entry is None:  # erased between the two statements
            raise AppError("erased")
        return entry

    async def mark_registered(self, usr: UUID) -> None:
        """Note that the user's first row is written."""
        async with self._connection() as connection:
            await connection.execute("UPDATE subjects SET registered = true WHERE usr = $1", usr)

    async def keys(self, usr: UUID, settle_s: float = 0) -> tuple[Sequence[DataKey], Wrapped | None]:
        """Return the user's data keys by version, and the index secret; nothing where they are destroyed.

        A key is settled when it has been here for `settle_s` seconds: whoever has read the keys since knows it.
        """
        async with self._connection() as connection:
            rows = await connection.fetch(
                "SELECT version, value, master_id, created_at <= now() - make_interval(secs => $2) AS is_settled"
                " FROM data_keys WHERE usr = $1 ORDER BY version",
                usr,
                settle_s,
            )
            secret = await connection.fetchrow("SELECT value, master_id FROM index_secrets WHERE usr = $1", usr)
        keys = [DataKey(row["version"], Wrapped(row["value"], row["master_id"]), row["is_settled"]) for row in rows]
        return keys, Wrapped(secret["value"], secret["master_id"]) if secret else None

    async def add_key(self, usr: UUID, version: int, key: Wrapped) -> bool:
        """Add a version of the user's data key; False where another one was first."""
        async with self._connection() as connection:
            done = await connection.fetchval(
                "INSERT INTO data_keys (usr, version, value, master_id) SELECT $1, $2, $3, $4"
                " WHERE EXISTS (SELECT 1 FROM subjects WHERE usr = $1) ON CONFLICT DO NOTHING RETURNING 1",
                usr,
                version,
                key.value,
                key.master_id,
            )
        return done is not None

    async def destroy(self, usr: UUID, tag_until: datetime, *, stop: bool) -> int:
        """Destroy the user's keys and the way from the subject to the reference; return how many keys there were.

        The subject's tag stays in the register of erasures until `tag_until` (for good with `stop`). May run twice.
        """
        async with self._connection() as connection, connection.transaction():
            # The keys before the subject: with it they would go uncounted.
            keys = await connection.fetch("DELETE FROM data_keys WHERE usr = $1 RETURNING version", usr)
            secrets = await connection.fetch("DELETE FROM index_secrets WHERE usr = $1 RETURNING usr", usr)
            tag = await connection.fetchval("DELETE FROM subjects WHERE usr = $1 RETURNING subject_tag", usr)
            await connection.execute(
                "INSERT INTO erasures (usr, subject_tag, tag_until, stop) VALUES ($1, $2, $3, $4)"
                " ON CONFLICT (usr) DO NOTHING",
                usr,
                tag,
                None if stop else tag_until,
                stop,
            )
            await connection.execute("UPDATE erasures SET subject_tag = NULL WHERE tag_until < now()")
        return len(keys) + len(secrets)

    async def stop(self, usr: UUID) -> None:
        """Keep the tag of an erased subject for good, so that nothing begins anew for them."""
        async with self._connection() as connection:
            await connection.execute(
                "UPDATE erasures SET stop = true, tag_until = NULL WHERE usr = $1 AND subject_tag IS NOT NULL", usr
            )

    async def remaining(self, usr: UUID) -> int:
        """Return how many keys and ways to the user's reference are left."""
        async with self._connection() as connection:
            count: int = await connection.fetchval(
                "SELECT (SELECT count(*) FROM subjects WHERE usr = $1)"
                " + (SELECT count(*) FROM data_keys WHERE usr = $1)"
                " + (SELECT count(*) FROM index_secrets WHERE usr = $1)",
                usr,
            )
        return count

    async def revoke_issued_before(self, usr: UUID, moment: datetime) -> None:
        """Revoke every token of the user that was issued up to a moment. None that was revoked comes back."""
        async with self._connection() as connection:
            await connection.execute(
                "UPDATE subjects SET issued_before = greatest(issued_before, $2) WHERE usr = $1", usr, moment
            )

    async def revoke_token(self, token_tag: bytes, until: datetime) -> None:
        """Revoke one token. Its tag is kept until no such token can be alive."""
        async with self._connection() as connection:
            await connection.execute("DELETE FROM revocations WHERE until < now()")
            await connection.execute(
                "INSERT INTO revocations (token_tag, until) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                token_tag,
                until,
            )

    async def is_revoked(self, token_tag: bytes) -> bool:
        """Return whether the token was revoked."""
        async with self._connection() as connection:
            found = await connection.fetchval("SELECT 1 FROM revocations WHERE token_tag = $1", token_tag)
        return found is not None

    async def erased(self, after: UUID, limit: int) -> Sequence[UUID]:
        """Return a page of the register of erasures: references whose keys were destroyed, in their order."""
        async with self._connection() as connection:
            rows = await connection.fetch("SELECT usr FROM erasures WHERE usr > $1 ORDER BY usr LIMIT $2", after, limit)
        return [row["usr"] for row in rows]

    async def secrets_not_under(self, master_id: str) -> Sequence[tuple[str, Wrapped]]:
        """Return the installation's secrets that another master key wrapped."""
        async with self._connection() as connection:
            rows = await connection.fetch("SELECT name, value, master_id FROM secrets WHERE master_id <> $1", master_id)
        return [(row["name"], Wrapped(row["value"], row["master_id"])) for row in rows]

    async def data_keys_not_under(self, master_id: str, limit: int) -> Sequence[tuple[UUID, int, Wrapped]]:
        """Return some data keys that another master key wrapped."""
        async with self._connection() as connection:
            rows = await connection.fetch(
                "SELECT usr, version, value, master_id FROM data_keys WHERE master_id <> $1 LIMIT $2",
                master_id,
                limit,
            )
        return [(row["usr"], row["version"], Wrapped(row["value"], row["master_id"])) for row in rows]

    async def index_secrets_not_under(self, master_id: str, limit: int) -> Sequence[tuple[UUID, Wrapped]]:
        """Return some index secrets that another master key wrapped."""
        async with self._connection() as connection:
            rows = await connection.fetch(
                "SELECT usr, value, master_id FROM index_secrets WHERE master_id <> $1 LIMIT $2",
                master_id,
                limit,
            )
        return [(row["usr"], Wrapped(row["value"], row["master_id"])) for row in rows]

    async def masters_beside(self, known: Sequence[str]) -> Sequence[str]:
        """Return the ids of the master keys that wrap any key and aren't among these."""
        async with self._connection() as connection:
            rows = await connection.fetch(
                "SELECT master_id FROM secrets WHERE master_id <> ALL($1::text[])"
                " UNION SELECT master_id FROM data_keys WHERE master_id <> ALL($1::text[])"
                " UNION SELECT master_id FROM index_secrets WHERE master_id <> ALL($1::text[])",
                list(known),
            )
        return [row["master_id"] for row in rows]

    async def replace_secret(self, name: str, old: Wrapped, new: Wrapped) -> int:
        """Put the new wrapping of a secret in place of the old one, where that is still there; return 1 or 0."""
        return await self._replace(
            "UPDATE secrets SET value = $1, master_id = $2 WHERE value = $3 AND name = $4", old, new, name
        )

    async def replace_data_key(self, usr: UUID, version: int, old: Wrapped, new: Wrapped) -> int:
        """Put the new wrapping of a data key in place of the old one, where that is still there; return 1 or 0."""
        statement = "UPDATE data_keys SET value = $1, master_id = $2 WHERE value = $3 AND usr = $4 AND version = $5"
        return await self._replace(statement, old, new, usr, version)

    async def replace_index_secret(self, usr: UUID, old: Wrapped, new: Wrapped) -> int:
        """Put the new wrapping of an index secret in place of the old one, where that is still there; return 1 or 0."""
        return await self._replace(
            "UPDATE index_secrets SET value = $1, master_id = $2 WHERE value = $3 AND usr = $4",
            old,
            new,
            usr,
        )

    async def _replace(self, statement: str, old: Wrapped, new: Wrapped, *key: object) -> int:
        async with self._connection() as connection:
            status: str = await connection.execute(statement, new.value, new.master_id, old.value, *key)
        return int(status.rsplit(" ", 1)[1])

    async def audit_head(self, tenant: str) -> tuple[int, bytes] | None:
        """Return number and digest of the last batch of the tenant's audit that was noted here."""
        async with self._connection() as connection:
            row = await connection.fetchrow("SELECT number, digest FROM audit_heads WHERE tenant = $1", tenant)
        return (row["number"], row["digest"]) if row else None

    async def audit_heads(self) -> Sequence[str]:
        """Return the tenants whose audit has a head here."""
        async with self._connection() as connection:
            return [row["tenant"] for row in await connection.fetch("SELECT tenant FROM audit_heads ORDER BY tenant")]

    async def note_audit_head(self, tenant: str, number: int, digest: bytes) -> None:
        """Note a batch as the last one of the tenant's audit, where an earlier one was."""
        async with self._connection() as connection:
            await connection.execute(
                "INSERT INTO audit_heads (tenant, number, digest) VALUES ($1, $2, $3) ON CONFLICT (tenant)"
                " DO UPDATE SET number = excluded.number, digest = excluded.digest, changed_at = now()"
                " WHERE audit_heads.number < excluded.number",
                tenant,
                number,
                digest,
            )

    async def ping(self) -> None:
        """Ask the server for an answer."""
        async with self._connection() as connection:
            await connection.fetchval("SELECT 1")

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.close()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        try:
            async with self._pool.acquire(timeout=POOL_WAIT_S) as connection:
                try:
                    yield connection
                except TimeoutError:
                    # Given back in good order it would be waited for once more.
                    connection.terminate()
                    raise
        except UNREACHABLE as error:
            raise AppError("store_unavailable", "the key store", headers={"Retry-After": "2"}) from error


def _one(row: asyncpg.Record | None) -> asyncpg.Record:
    if row is None:
        raise LookupError("a row that this connection wrote, or a query that always has one, gave none")
    return row


async def open_pool(url: str, size: int) -> asyncpg.Pool:
    """Return a pool on the key database. It connects when it is first used."""
    return await asyncpg.create_pool(
        url,
        min_size=0,
        max_size=size,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=COMMAND_TIMEOUT_S,
        statement_cache_size=0,
    )
