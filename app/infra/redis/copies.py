"""How every hot copy is asked and kept true: by scripts, under the lease (lease.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import AppError
from app.infra.redis.client import RedisStore
from app.infra.redis.lease import Generation, Lease
from app.infra.redis.script import Script

Args = Sequence[bytes | str | int]


@dataclass(frozen=True, slots=True)
class Told:
    """What a script has answered, which is the truth at this moment, and the generation that says so."""

    found: Sequence[Any]
    generation: Generation


class HotCopies:
    """Redis and the lease it is trusted under. Each script takes the generation's name as its first argument, and
    answers with who ran it first.
    """

    def __init__(self, redis: RedisStore, lease: Lease) -> None:
        """Take the store, and under what it is trusted."""
        self._redis = redis
        self._lease = lease

    @property
    def is_trusted(self) -> bool:
        """Say whether it is worth while to ask."""
        return self._lease.held() is not None

    async def ask(self, script: Script, names: Sequence[str], args: Args = ()) -> Told | None:
        """Return what a script answers; None where that can't be told for true."""
        generation = self._lease.held()
        if generation is None:
            return None
        try:
            server, *found = await self._redis.run(script, names, [generation.name.hex, *args])
        except AppError:
            return None
        # Asked for after the answer is there: this process may have been stopped for long in between.
        return Told(found, generation) if generation.vouches_for(server.decode()) else None

    async def put(self, generation: Generation, script: Script, names: Sequence[str], args: Args) -> None:
        """Put what was read from Postgres. What comes of it doesn't matter to who has read it."""
        try:
            await self._redis.run(script, names, [generation.name.hex, *args])
        except AppError:
            return

    async def follow(self, script: Script, names: Sequence[str], args: Args = ()) -> None:
        """Repeat a change that is committed. Raises `store_unavailable` where a reader could miss the change."""

        async def step(generation: str) -> str:
            server, _ = await self._redis.run(script, names, [generation, *args])
            return str(server.decode())

        await self._lease.follow(step)
