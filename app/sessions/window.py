"""The window in Redis: the sealed messages of a session that its summary doesn't cover yet, by sequence number.

It is a copy that may be missing, behind or full of holes at any time. Who reads it says which epoch and which last
message Postgres has; a copy that can't show exactly that counts as none. So a step that failed here is never seen.
"""

import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from app.core.errors import AppError
from app.core.scope import Scope
from app.infra.redis import keys
from app.infra.redis.client import RedisStore
from app.infra.redis.script import Script, writing
from app.sessions.model import Reserved, Role, SealedMessage, Session

# However long a session lives, its hot copy is rebuilt when it is needed again after so long.
LONGEST_S: Final = 7 * 24 * 3600
# Where the summary has fallen behind this far, readers go to Postgres.
MAX_KEPT: Final = 500

# id, context id, role, created and stored in microseconds, length of the body; then the body and the constraints.
_HEAD: Final = struct.Struct(">16s16sBqqI")
_HOLE: Final = struct.Struct(">Q")
_ROLES: Final = tuple(Role)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_CONTEXT: Final = bytes(16)
MICROSECOND: Final = timedelta(microseconds=1)

# Messages of one epoch never change, so that steps may come in any order and twice: each puts what it knows, and `last`
# only rises. An append begins a window only with the first message; later, only a rebuild knows what came before.
_PUT = writing(
    """
local epoch, border, last, ttl_s, may_begin = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local known = redis.call('HGET', KEYS[4], 'epoch')
if known and tonumber(known) > tonumber(epoch) then return 'newer' end
if known and tonumber(known) < tonumber(epoch) then
    redis.call('DEL', KEYS[3], KEYS[4])
    known = false
end
if not known then
    if may_begin == '0' then return 'unknown' end
    redis.call('HSET', KEYS[4], 'epoch', epoch, 'last', '0')
end
for place = 6, #ARGV, 2 do
    redis.call('ZREMRANGEBYSCORE', KEYS[3], ARGV[place], ARGV[place])
    redis.call('ZADD', KEYS[3], ARGV[place], ARGV[place + 1])
end
if tonumber(last) > tonumber(redis.call('HGET', KEYS[4], 'last')) then redis.call('HSET', KEYS[4], 'last', last) end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', border)
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -(MAX_KEPT + 1))
keep(ttl_s)
return 'kept'
""".replace("MAX_KEPT", str(MAX_KEPT))
)

_READ = Script("""
local epoch, border, last = ARGV[1], ARGV[2], ARGV[3]
local state = redis.call('HMGET', KEYS[2], 'epoch', 'last')
if state[1] ~= epoch or tonumber(state[2]) < tonumber(last) then return false end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. border, last, 'WITHSCORES')
if #found ~= 2 * (tonumber(last) - tonumber(border)) then return false end
return found
""")

_DROP = writing("redis.call('DEL', KEYS[3], KEYS[4])")


class Window:
    """The windows of all sessions. Where Redis is out of reach nothing is kept and nothing is found."""

    def __init__(self, redis: RedisStore) -> None:
        """Take the store."""
        self._redis = redis

    async def append(self, scope: Scope, session_id: UUID, reserved: Reserved, sealed: Sequence[SealedMessage]) -> None:
        """Put messages that are committed. In whatever order appends come here, the window is the same in the end."""
        await self._put(
            scope,
            session_id,
            (reserved.content_version, reserved.summary_seq, sealed[-1].seq, reserved.ttl_s),
            {message.seq: packed(message) for message in sealed},
            may_begin=reserved.first == 1,
        )

    async def rebuild(self, scope: Scope, session: Session, sealed: Sequence[SealedMessage]) -> None:
        """Put all messages after the summary, as one snapshot of Postgres shows them with the session."""
        if session.last - session.summary_seq > MAX_KEPT:
            return
        members = {seq: _HOLE.pack(seq) for seq in range(session.summary_seq + 1, session.next_seq)}
        members |= {message.seq: packed(message) for message in sealed}
        await self._put(
            scope,
            session.id,
            (session.content_version, session.summary_seq, session.last, session.ttl_s),
            members,
            may_begin=True,
        )

    async def read(self, scope: Scope, session: Session) -> Sequence[SealedMessage] | None:
        """Return the messages after the summary up to the session's last; None where the copy can't show just these."""
        names = [keys.window(scope.usr, session.id), keys.window_state(scope.usr, session.id)]
        try:
            found = await self._redis.run(_READ, names, [session.content_version, session.summary_seq, session.last])
        except AppError:
            return None
        if found is None:
            return None
        pairs = zip(found[::2], found[1::2], strict=True)
        return [unpacked(member, int(seq)) for member, seq in pairs if len(member) != _HOLE.size]

    async def drop(self, scope: Scope, session_id: UUID) -> None:
        """Remove a session's window where Redis can be reached; one that stays is of an epoch that nobody asks for."""
        try:
            await self._redis.run(_DROP, _names(scope, session_id), [])
        except AppError:
            return

    async def _put(
        self,
        scope: Scope,
        session_id: UUID,
        state: tuple[int, int, int, int],
        members: dict[int, bytes],
        *,
        may_begin: bool,
    ) -> None:
        epoch, border, last, ttl_s = state
        args: list[bytes | str | int] = [epoch, border, last, min(ttl_s, LONGEST_S), int(may_begin)]
        for seq, member in members.items():
            args += [seq, member]
        try:
            await self._redis.run(_PUT, _names(scope, session_id), args)
        except AppError:
            return


def _names(scope: Scope, session_id: UUID) -> list[str]:
    usr = scope.usr
    return [keys.tombstone(usr), keys.index(usr), keys.window(usr, session_id), keys.window_state(usr, session_id)]


def packed(message: SealedMessage) -> bytes:
    """Return the bytes that Redis holds of a message, which don't tell its sequence number."""
    head = _HEAD.pack(
        message.id.bytes,
        message.context_id.bytes if message.context_id else _NO_CONTEXT,
        _ROLES.index(message.role),
        (message.created_at - EPOCH) // MICROSECOND,
        (message.stored_at - EPOCH) // MICROSECOND,
        len(message.body),
    )
    return head + message.body + (message.constraints or b"")


def unpacked(member: bytes, seq: int) -> SealedMessage:
    """Return the message of which these are the bytes."""
    message_id, context_id, role, created, stored, length = _HEAD.unpack_from(member)
    body_end = _HEAD.size + length
    return SealedMessage(
        id=UUID(bytes=message_id),
        seq=seq,
        role=_ROLES[role],
        created_at=EPOCH + created * MICROSECOND,
        stored_at=EPOCH + stored * MICROSECOND,
        context_id=None if context_id == _NO_CONTEXT else UUID(bytes=context_id),
        body=member[_HEAD.size : body_end],
        constraints=member[body_end:] or None,
    )
