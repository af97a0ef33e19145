"""How everything of a user's in Redis is forgotten: the tombstone first, so that nothing in flight writes again."""

from collections.abc import Sequence

from app.core.memory import Retention
from app.core.scope import Scope
from app.infra.redis import keys
from app.infra.redis.client import RedisStore
from app.infra.redis.copies import HotCopies
from app.infra.redis.lease import Lease
from app.infra.redis.script import telling

# What was committed before the gate closed reaches Redis within seconds, or never.
TOMBSTONE_S = 24 * 3600
BATCH = 500

_BURY = telling("redis.call('SET', KEYS[1], '1', 'EX', ARGV[2]) return {me(), 'dead'}")


class HotData:
    """All keys of a user but the tombstone, whichever feature wrote them. A UserData of app.core.memory."""

    name = "hot_copies"
    store = "redis"
    tables: tuple[str, ...] = ()
    retained: Retention | None = None

    def __init__(self, redis: RedisStore, lease: Lease) -> None:
        """Take the store, and under what it is trusted."""
        self._redis = redis
        self._copies = HotCopies(redis, lease)

    async def bury(self, scope: Scope) -> None:
        """See to it that no reader finds anything of the user's in Redis from now on. Call it when the gate is closed;
        without Redis too it ends well, when nobody trusts it any more. Raises `store_unavailable` where neither works.
        """
        await self._copies.follow(_BURY, [keys.tombstone(scope.usr)], [TOMBSTONE_S])

    async def erase(self, scope: Scope) -> None:
        """Remove them. Raises `store_unavailable` where Redis is out of reach: then it is owed."""
        await self._redis.command("SET", keys.tombstone(scope.usr), "1", "EX", TOMBSTONE_S)
        index = keys.index(scope.usr)
        names = await self._names(scope)
        for start in range(0, len(names), BATCH):
            await self._redis.command("UNLINK", *names[start : start + BATCH])
        await self._redis.command("UNLINK", index)

    async def count(self, scope: Scope) -> int:
        """Return how many keys there are."""
        names = await self._names(scope)
        found = 0
        for start in range(0, len(names), BATCH):
            found += int(await self._redis.command("EXISTS", *names[start : start + BATCH]))
        return found

    async def _names(self, scope: Scope) -> Sequence[bytes]:
        names: Sequence[bytes] = await self._redis.command("ZRANGE", keys.index(scope.usr), 0, -1)
        return names
