"""The hot copy of a session in Redis: its row, its summary, and the sealed messages that the summary doesn't cover yet.

While the lease is good (app/infra/redis/lease.py), what it shows is the truth. It holds by three rules. A copy is made
by a reader alone, who has a ticket for it before they read Postgres; every writer takes the ticket away, so that a copy
that a change has overtaken isn't put, however late it arrives. A writer changes a copy that fits and drops one that
doesn't: of another generation or epoch, or with another message in that place. An append that never came leaves a hole.
"""

import secrets
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from app.core.scope import Scope
from app.infra.crypto.box import Box
from app.infra.redis import keys
from app.infra.redis.client import RedisStore
from app.infra.redis.copies import Args, HotCopies
from app.infra.redis.lease import Generation, Lease
from app.infra.redis.script import Script, telling, writing
from app.infra.summarisers.port import Summary
from app.sessions.copies import (
    Copy,
    is_hole,
    members,
    microseconds,
    moment,
    packed,
    sealed_row,
    sealed_summary,
    unpacked,
)
from app.sessions.model import Reserved, SealedMessage, Session

# However long a session lives, its hot copy is made anew when it is needed again after so long.
LONGEST_S: Final = 7 * 24 * 3600
# Where the summary has fallen behind this far, readers go to Postgres.
MAX_KEPT: Final = 500
# A reader who takes longer over it than this has lost the ticket, and another may try.
TICKET_S: Final = 3
TICKET_BYTES: Final = 16

# KEYS: 3 the messages, 4 what is known of them, 5 the ticket.
_WRITE: Final = """
redis.call('DEL', KEYS[5])
local known = redis.call('HMGET', KEYS[4], 'generation', 'epoch', 'border', 'last')
local function drop()
    redis.call('DEL', KEYS[3], KEYS[4])
    return {me(), 'dropped'}
end
if known[1] ~= ARGV[1] or known[2] ~= ARGV[2] then return drop() end
local border, last = tonumber(known[3]), tonumber(known[4])
"""

_APPEND = writing(
    _WRITE
    + """
local version, at, ttl_s, newest = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[#ARGV - 1])
for place = 6, #ARGV, 2 do
    local there = redis.call('ZRANGEBYSCORE', KEYS[3], ARGV[place], ARGV[place])
    if tonumber(ARGV[place]) <= border or (there[1] and there[1] ~= ARGV[place + 1]) then return drop() end
    redis.call('ZADD', KEYS[3], ARGV[place], ARGV[place + 1])
end
if newest > last then
    redis.call('HSET', KEYS[4], 'last', newest, 'version', version, 'active', at)
    last = newest
end
if last - border > MAX_KEPT then return drop() end
keep(ttl_s)
return {me(), 'kept'}
""".replace("MAX_KEPT", str(MAX_KEPT))
)

_SUMMARISE = writing(
    _WRITE
    + """
if tonumber(ARGV[3]) > border then
    redis.call('HSET', KEYS[4], 'border', ARGV[3], 'summary', ARGV[4])
    redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[3])
end
return {me(), 'kept'}
"""
)

_DROP = writing("redis.call('DEL', KEYS[3], KEYS[4], KEYS[5]) return {me(), 'dropped'}")

# KEYS: 3 the ticket.
_TAKE = writing("""
if not redis.call('SET', KEYS[3], ARGV[2], 'NX', 'EX', ARGV[3]) then return {me(), 'busy'} end
keep(ARGV[3])
return {me(), 'taken'}
""")

_PUT = writing("""
if redis.call('GET', KEYS[5]) ~= ARGV[2] then return {me(), 'refused'} end
redis.call('DEL', KEYS[3], KEYS[4], KEYS[5])
redis.call('HSET', KEYS[4], 'generation', ARGV[1], 'epoch', ARGV[3], 'border', ARGV[4], 'last', ARGV[5],
    'version', ARGV[6], 'active', ARGV[7], 'row', ARGV[9], 'summary', ARGV[10])
for place = 11, #ARGV, 2 do redis.call('ZADD', KEYS[3], ARGV[place], ARGV[place + 1]) end
keep(ARGV[8])
return {me(), 'kept'}
""")

# KEYS: 1 the tombstone, 2 the messages, 3 what is known of them.
_READ = telling("""
if redis.call('EXISTS', KEYS[1]) == 1 then return {me()} end
local known = redis.call('HMGET', KEYS[3], 'generation', 'row', 'summary', 'border', 'last', 'version', 'active')
if known[1] ~= ARGV[1] then return {me()} end
local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. known[4], known[5], 'WITHSCORES')
if #found ~= 2 * (tonumber(known[5]) - tonumber(known[4])) then return {me()} end
return {me(), known, found}
""")


class Window:
    """The hot copies of all sessions. Nothing is found here unless it is the truth at this moment."""

    def __init__(self, redis: RedisStore, lease: Lease) -> None:
        """Take the store, and under what it is trusted."""
        self._copies = HotCopies(redis, lease)

    @property
    def is_trusted(self) -> bool:
        """Say whether it is worth while to look here."""
        return self._copies.is_trusted

    async def append(self, scope: Scope, session_id: UUID, reserved: Reserved, sealed: Sequence[SealedMessage]) -> None:
        """Add messages that are committed. In whatever order appends come here, the copy is the same in the end.

        Like every method that follows a change, it raises `store_unavailable` where a reader could miss the change.
        """
        args: list[bytes | str | int] = [reserved.content_version, reserved.version, microseconds(reserved.at)]
        args += [min(reserved.ttl_s, LONGEST_S)]
        for message in sealed:
            args += [message.seq, packed(message)]
        await self._follow(scope, session_id, _APPEND, args)

    async def summarise(self, scope: Scope, session: Session, box: Box, summary: Summary, summary_seq: int) -> None:
        """Show a summary that is committed, in place of the one that `session` shows and of what it covers."""
        args: Args = [session.content_version, summary_seq, sealed_summary(box, session.id, summary)]
        await self._follow(scope, session.id, _SUMMARISE, args)

    async def drop(self, scope: Scope, session_id: UUID) -> None:
        """Drop what a committed change has made wrong, or may have."""
        await self._follow(scope, session_id, _DROP, [])

    async def read(self, scope: Scope, session_id: UUID) -> Copy | None:
        """Return the session as it is now; None where that can't be told from here."""
        usr = scope.usr
        names = [keys.tombstone(usr), keys.window(usr, session_id), keys.window_state(usr, session_id)]
        told = await self._copies.ask(_READ, names)
        return _copy(*told.found) if told is not None and told.found else None

    async def take_ticket(self, scope: Scope, session_id: UUID) -> "Ticket | None":
        """Take the right to make a session's copy anew; None where it isn't to be had. Read Postgres after this."""
        token = secrets.token_hex(TICKET_BYTES)
        names = [keys.tombstone(scope.usr), keys.index(scope.usr), keys.ticket(scope.usr, session_id)]
        told = await self._copies.ask(_TAKE, names, [token, TICKET_S])
        return Ticket(self._copies, told.generation, token) if told is not None and told.found == [b"taken"] else None

    async def _follow(self, scope: Scope, session_id: UUID, script: Script, args: Args) -> None:
        await self._copies.follow(script, _names(scope, session_id), args)


class Ticket:
    """The right to make one copy, until it is used, runs out, or a writer takes it away."""

    def __init__(self, copies: HotCopies, generation: Generation, token: str) -> None:
        """Take where, in which generation, and what shows that it is ours."""
        self._copies = copies
        self._generation = generation
        self._token = token

    async def put(self, scope: Scope, session: Session, box: Box, sealed: Sequence[SealedMessage]) -> None:
        """Put a session with all messages after its summary, as one snapshot of Postgres shows them. What comes of it
        doesn't matter to who has read it.
        """
        if session.last - session.summary_seq > MAX_KEPT:
            return
        args: list[bytes | str | int] = [self._token]
        args += [session.content_version, session.summary_seq, session.last, session.version]
        args += [microseconds(session.last_active_at), min(session.ttl_s, LONGEST_S)]
        args += [sealed_row(box, session), sealed_summary(box, session.id, session.summary)]
        for seq, member in members(session, sealed).items():
            args += [seq, member]
        await self._copies.put(self._generation, _PUT, _names(scope, session.id), args)


def _names(scope: Scope, session_id: UUID) -> list[str]:
    usr = scope.usr
    state, ticket = keys.window_state(usr, session_id), keys.ticket(usr, session_id)
    return [keys.tombstone(usr), keys.index(usr), keys.window(usr, session_id), state, ticket]


def _copy(known: Sequence[bytes], found: Sequence[bytes]) -> Copy:
    _, row, summary, border, last, version, active = known
    pairs = zip(found[::2], found[1::2], strict=True)
    return Copy(
        row=row,
        summary=summary,
        summary_seq=int(border),
        last=int(last),
        version=int(version),
        last_active_at=moment(int(active)),
        messages=[unpacked(member, int(seq)) for member, seq in pairs if not is_hole(member)],
    )
