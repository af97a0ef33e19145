"""Scripts: each is one atomic step on the keys of one user, and does nothing for a user who is no more."""

import hashlib
from dataclasses import dataclass, field

# Every script that writes begins with this. KEYS[1] is the tombstone, KEYS[2] the index of the user's keys, the rest
# are what the script writes. The index outlives the last of them; entries of expired keys are dropped on the way.
PRELUDE = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 'dead' end
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


@dataclass(frozen=True)
class Script:
    """The text of a script and the digest that the server knows it by."""

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the digest: the server's own is SHA-1, a name and no protection."""
        object.__setattr__(self, "sha", hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest())


def writing(body: str) -> Script:
    """Return a script that writes for a user, if they aren't dead; it calls `keep(ttl_s)` where it wrote."""
    return Script(PRELUDE + body)
