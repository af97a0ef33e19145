"""The hot copy of a user's memory: answers of reads, all of them as of one change of it.

One hash for each user. `number` is that of the last change which its answers show; `ticket` is made with the hash and
goes with it. It holds by three rules, under the lease (lease.py):

- Every change of user memory, whichever kind it is of, drops the hash after its commit, unless that is as new already.
- An answer is put by who had the ticket before they read Postgres. A hash that was dropped, ran out or was lost since
  has none or another: nothing that a change has overtaken is put, however late it arrives.
- It is put only where it isn't older than what is there. An answer that is newer drops the others: a writer who finds
  its own number there, or a later one, knows that all of it is as new.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from app.core.scope import Scope
from app.infra.redis import keys
from app.infra.redis.copies import Args, HotCopies
from app.infra.redis.lease import Generation
from app.infra.redis.script import writing

# A writer that dies between its commit and Redis has acknowledged nothing; its change is read after so long at most.
LIFE_S: Final = 300
TICKET_BYTES: Final = 16
# Beyond these Postgres is read: how many answers one user may have here, and how long each may be.
MAX_ANSWERS: Final = 256
MAX_ANSWER_BYTES: Final = 65_536
# Later than any change: drops whatever there is.
_LAST: Final = 2**53

# KEYS: 3 the hash.
_LOOK = writing("""
local known = redis.call('HMGET', KEYS[3], 'generation', 'ticket', 'answer:' .. ARGV[3])
if known[1] == ARGV[1] then return {me(), known[2], known[3]} end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[3], 'generation', ARGV[1], 'ticket', ARGV[2])
keep(ARGV[4])
return {me(), ARGV[2]}
""")

_PUT = writing("""
local known = redis.call('HMGET', KEYS[3], 'generation', 'ticket', 'number')
if known[1] ~= ARGV[1] or known[2] ~= ARGV[2] then return {me(), 'refused'} end
local number, there = tonumber(ARGV[3]), tonumber(known[3] or -1)
if number < there then return {me(), 'refused'} end
if number > there then
    redis.call('DEL', KEYS[3])
    redis.call('HSET', KEYS[3], 'generation', ARGV[1], 'ticket', ARGV[2], 'number', ARGV[3])
    keep(ARGV[7])
end
if redis.call('HLEN', KEYS[3]) >= tonumber(ARGV[6]) then return {me(), 'full'} end
redis.call('HSET', KEYS[3], 'answer:' .. ARGV[4], ARGV[5])
return {me(), 'kept'}
""")

_OVERTAKE = writing("""
local known = redis.call('HMGET', KEYS[3], 'generation', 'number')
if known[1] == ARGV[1] and tonumber(known[2] or -1) >= tonumber(ARGV[2]) then return {me(), 'kept'} end
redis.call('DEL', KEYS[3])
return {me(), 'dropped'}
""")


@dataclass(frozen=True, slots=True)
class Ticket:
    """The right to put what is read from Postgres from now on."""

    generation: Generation
    token: bytes


@dataclass(frozen=True, slots=True)
class Look:
    """What a look has found: the answer, sealed, which is the truth at this moment; else mostly a ticket to put it."""

    answer: bytes | None = None
    ticket: Ticket | None = None


class MemoryCopies:
    """The hot copies of all users' memory."""

    def __init__(self, copies: HotCopies) -> None:
        """Take how hot copies are asked and kept true."""
        self._copies = copies

    @property
    def is_trusted(self) -> bool:
        """Say whether it is worth while to look here."""
        return self._copies.is_trusted

    async def look(self, scope: Scope, name: str) -> Look:
        """Look for an answer: one round trip, whatever comes of it."""
        args: Args = [secrets.token_hex(TICKET_BYTES), name, LIFE_S]
        told = await self._copies.ask(_LOOK, _names(scope), args)
        if told is None:
            return Look()
        token, *answers = told.found
        return Look(answers[0] if answers else None, Ticket(told.generation, token))

    async def put(self, scope: Scope, ticket: Ticket, number: int, name: str, answer: bytes) -> None:
        """Put an answer that shows the user's memory as of a change, which was read after the ticket was taken."""
        if len(answer) <= MAX_ANSWER_BYTES:
            args: Args = [ticket.token, number, name, answer, MAX_ANSWERS, LIFE_S]
            await self._copies.put(ticket.generation, _PUT, _names(scope), args)

    async def follow(self, scope: Scope, number: int | None) -> None:
        """Have no reader see what was before the change of that number; None: before now. Call it after the commit.

        Raises `store_unavailable` where a reader could miss the change: then it mustn't be acknowledged.
        """
        await self._copies.follow(_OVERTAKE, _names(scope), [_LAST if number is None else number])


def _names(scope: Scope) -> list[str]:
    return [keys.tombstone(scope.usr), keys.index(scope.usr), keys.memory(scope.usr)]
