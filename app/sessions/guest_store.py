"""Anonymous sessions in Redis: they live there alone, sealed under keys that nothing but their token gives.

Numbers, times and sizes are plain. Every step is one script, so that it is whole or not at all, and every one that
writes may come twice: the connection may break after it was done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from app.infra.redis import keys
from app.infra.redis.client import RedisStore
from app.infra.redis.script import Script
from app.sessions.copies import microseconds, moment, packed, unpacked
from app.sessions.model import SealedMessage

MAX_MESSAGES: Final = 1_000
MAX_BYTES: Final = 1024 * 1024
MAX_TTL_S: Final = 7 * 24 * 3600
# A claim that died halfway can be finished for so long, however soon the session would have expired.
CLAIM_S: Final = 3600

_BEGIN = Script("""
redis.call('HSET', KEYS[1], 'body', ARGV[1], 'window', ARGV[2], 'ttl', ARGV[3], 'created', ARGV[4], 'active', ARGV[4],
    'next', 1, 'count', 0, 'bytes', 0, 'version', 1, 'epoch', 1)
redis.call('EXPIRE', KEYS[1], ARGV[3])
""")

# Where Redis has evicted the messages and not the session, there is no session: less than all is never shown.
_WHOLE = """
if tonumber(redis.call('HGET', KEYS[1], 'count')) ~= redis.call('ZCARD', KEYS[2]) then return false end
"""

_SHOW = (
    _WHOLE
    + """
local state = redis.call('HMGET', KEYS[1], 'body', 'next', 'version', 'epoch', 'window', 'ttl', 'created', 'active')
return {state, redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')}
"""
)

_OPEN = "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'claimer') == 1 then return false end"

_READ = Script(_OPEN + _SHOW)

# The first who claims is the only one from then on; nothing is appended any more, so that what is shown now is all.
_MARK = Script(
    """
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('HSETNX', KEYS[1], 'claimer', ARGV[1])
if redis.call('HGET', KEYS[1], 'claimer') ~= ARGV[1] then return false end
for _, key in ipairs(KEYS) do
    local left_s = redis.call('TTL', key)
    if left_s >= 0 and left_s < CLAIM_S then redis.call('EXPIRE', key, CLAIM_S) end
end
""".replace("CLAIM_S", str(CLAIM_S))
    + _SHOW
)

_HEAD_ARGS: Final = 4
_ADD = Script(
    _OPEN
    + _WHOLE
    + """
local append, request, at, size = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local known = redis.call('HGET', KEYS[3], append)
if known then return {'known', known} end
local count = #ARGV - HEAD_ARGS
if redis.call('ZCARD', KEYS[2]) + count > MAX_MESSAGES then return {'full'} end
if redis.call('HINCRBY', KEYS[1], 'bytes', size) > MAX_BYTES then
    redis.call('HINCRBY', KEYS[1], 'bytes', -size)
    return {'full'}
end
local first = redis.call('HINCRBY', KEYS[1], 'next', count) - count
for place = 1, count do redis.call('ZADD', KEYS[2], first + place - 1, ARGV[HEAD_ARGS + place]) end
redis.call('HSET', KEYS[1], 'active', at)
redis.call('HINCRBY', KEYS[1], 'count', count)
redis.call('HINCRBY', KEYS[1], 'version', 1)
local appended = request .. ':' .. first .. ':' .. count
redis.call('HSET', KEYS[3], append, appended)
local ttl_s = redis.call('HGET', KEYS[1], 'ttl')
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ttl_s) end
return {'kept', appended}
""".replace("HEAD_ARGS", str(_HEAD_ARGS))
    .replace("MAX_MESSAGES", str(MAX_MESSAGES))
    .replace("MAX_BYTES", str(MAX_BYTES))
)

# Its life counts from its last message. An append keeps the life that it finds, so that the keys agree again with it.
_CHANGE = Script(
    _OPEN
    + _WHOLE
    + """
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return false end
redis.call('HSET', KEYS[1], 'body', ARGV[2], 'window', ARGV[3], 'ttl', ARGV[4])
redis.call('HINCRBY', KEYS[1], 'version', 1)
local ends = math.floor(tonumber(redis.call('HGET', KEYS[1], 'active')) / 1000000) + tonumber(ARGV[4])
for _, key in ipairs(KEYS) do redis.call('EXPIREAT', key, ends) end
return 'changed'
"""
)

_TAKE_OUT = Script(
    _OPEN
    + """
if redis.call('ZREMRANGEBYSCORE', KEYS[2], ARGV[1], ARGV[1]) == 1 then
    redis.call('HINCRBY', KEYS[1], 'count', -1)
    redis.call('HINCRBY', KEYS[1], 'version', 1)
    redis.call('HINCRBY', KEYS[1], 'epoch', 1)
end
"""
)

_REMOVE = Script("""
local version = redis.call('HGET', KEYS[1], 'version')
if version and ARGV[1] ~= '' and version ~= ARGV[1] then return 'stale' end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
return 'gone'
""")


@dataclass(frozen=True, slots=True)
class Kept:
    """An anonymous session as Redis holds it. `body` is sealed: who opens it has the token."""

    body: bytes
    next_seq: int
    version: int
    epoch: int
    window_size: int
    ttl_s: int
    created_at: datetime
    last_active_at: datetime
    messages: Sequence[SealedMessage]


class Outcome(StrEnum):
    """What became of an append."""

    KEPT = "kept"
    KNOWN = "known"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Added:
    """What became of an append; where its messages stand, and which request put them there."""

    outcome: Outcome
    request: str = ""
    first: int = 0
    count: int = 0


class GuestStore:
    """The scripts. Whatever keeps Redis from answering is `store_unavailable`: there is no other copy."""

    def __init__(self, redis: RedisStore) -> None:
        """Take the store."""
        self._redis = redis

    async def begin(self, session_id: UUID, body: bytes, window_size: int, ttl_s: int, at: datetime) -> None:
        """Make a session."""
        await self._run(_BEGIN, session_id, body, window_size, ttl_s, microseconds(at))

    async def body(self, session_id: UUID) -> bytes | None:
        """Return what a token must open to be the session's; None where there is no session."""
        found: bytes | None = await self._redis.command("HGET", keys.anonymous(session_id), "body")
        return found

    async def read(self, session_id: UUID) -> Kept | None:
        """Return a session with its messages; None where there is none, or somebody has claimed it."""
        return _kept(await self._run(_READ, session_id))

    async def mark(self, session_id: UUID, claimer: bytes) -> Kept | None:
        """Close a session to all but one claimer, and return it; None where there is none or another was first."""
        return _kept(await self._run(_MARK, session_id, claimer))

    async def add(
        self,
        session_id: UUID,
        sealed: Sequence[SealedMessage],
        append: str,
        request: str,
        at: datetime,
    ) -> Added | None:
        """Add messages, whose numbers are given here; None where there is no session. `append` names this append: one
        that was done before isn't done again.
        """
        members = [packed(message) for message in sealed]
        size = sum(map(len, members))
        found = await self._run(_ADD, session_id, append, request, microseconds(at), size, *members)
        if found is None:
            return None
        outcome = Outcome(found[0].decode())
        if outcome is Outcome.FULL:
            return Added(outcome)
        told, first, count = found[1].decode().split(":")
        return Added(outcome, told, int(first), int(count))

    async def change(self, session_id: UUID, version: int, body: bytes, window_size: int, ttl_s: int) -> bool:
        """Change a session that is at `version`; False where it isn't, or isn't there any more."""
        return await self._run(_CHANGE, session_id, version, body, window_size, ttl_s) is not None

    async def take_out(self, session_id: UUID, seq: int) -> None:
        """Remove one message."""
        await self._run(_TAKE_OUT, session_id, seq)

    async def remove(self, session_id: UUID, version: int | None) -> bool:
        """Remove a session with all there is of it; False where it is at another version than the one named."""
        return bool(await self._run(_REMOVE, session_id, "" if version is None else version) == b"gone")

    async def _run(self, script: Script, session_id: UUID, *args: bytes | str | int) -> Any:  # noqa: ANN401 - what a script returns is the script's own
        names = [keys.anonymous(session_id), keys.anonymous_messages(session_id), keys.anonymous_appends(session_id)]
        return await self._redis.run(script, names, args)


def _kept(found: Any) -> Kept | None:  # noqa: ANN401 - what the script returned
    if found is None:
        return None
    (body, next_seq, version, epoch, window_size, ttl_s, created, active), members = found
    return Kept(
        body=body,
        next_seq=int(next_seq),
        version=int(version),
        epoch=int(epoch),
        window_size=int(window_size),
        ttl_s=int(ttl_s),
        created_at=moment(int(created)),
        last_active_at=moment(int(active)),
        messages=[unpacked(member, int(seq)) for member, seq in zip(members[::2], members[1::2], strict=True)],
    )
