"""Scripts: each is one atomic step on the keys of one user, and does nothing for a user who is no more.

What reads or writes hot copies says who did it: `me()` is another after a restart, after a promotion and after a server
became another's replica. What answers can so be told from a server that answers in its place.
"""

import hashlib
from dataclasses import dataclass, field

# 13 microseconds, measured: patterns would take twice as long.
IDENTITY = """
local function me()
    local facts = redis.call('INFO', 'server', 'replication')
    local run = string.find(facts, 'run_id:', 1, true)
    local role = string.find(facts, 'role:', run, true)
    local history = string.find(facts, 'master_replid:', role, true)
    return string.sub(facts, role + 5, role + 10) .. ':' .. string.sub(facts, run + 7, run + 46)
        .. ':' .. string.sub(facts, history + 14, history + 53)
end
"""
PRIMARY = "master:"

# Every script that writes begins with this. KEYS[1] is the tombstone, KEYS[2] the index of the user's keys, the rest
# are what the script writes. The index outlives the last of them; entries of expired keys are dropped on the way.
PRELUDE = (
    IDENTITY
    + """
if redis.call('EXISTS', KEYS[1]) == 1 then return {me(), 'dead'} end
local function keep(ttl_s)
    local now = tonumber(redis.call('TIME')[1])
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 1)
    for place = 3, #KEYS do
        redis.call('EXPIRE', KEYS[place], ttl_s)
        redis.call('ZADD', KEYS[2], now + ttl_s, KEYS[place])
    end
    local longest = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
    redis.call('EXPIREAT', KEYS[2], tonumber(longest[2]) + 1)
end
"""
)


@dataclass(frozen=True)
class Script:
    """The text of a script and the digest that the server knows it by."""

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the digest: the server's own is SHA-1, a name and no protection."""
        object.__setattr__(self, "sha", hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest())


def writing(body: str) -> Script:
    """Return a script that writes for a user, if they aren't dead; it calls `keep(ttl_s)` where it wrote.

    Each answers who did it, and what.
    """
    return Script(PRELUDE + body)


def telling(body: str) -> Script:
    """Return a script that tells who did it, and what, and does it for the dead as well."""
    return Script(IDENTITY + body)


# Who a server is, and whether it has room: one that is full refuses what every writer asks of it.
WHO = telling("""
local memory = redis.call('INFO', 'memory')
local used, most = string.match(memory, 'used_memory:(%d+)'), string.match(memory, 'maxmemory:(%d+)')
local is_full = tonumber(most) > 0 and tonumber(used) >= tonumber(most) and string.find(memory, ':noeviction', 1, true)
return {me(), is_full and 'full' or 'ready'}
""")
