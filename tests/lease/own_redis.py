"""Redis servers of a test's own, to be killed, stopped and set back, and a line to one, to be held up and switched."""

import asyncio
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from app.infra.embedded import binaries, valkey
from app.infra.embedded.ports import LOOPBACK, free_port
from app.infra.embedded.process import Child, Program, Supervisor, Tier

PASSWORD = "of-the-test"
READY_WITHIN_S = 20
CHUNK_BYTES = 65_536


class OwnRedis:
    """One server on a port that it keeps."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / name
        self._folder.mkdir()
        self._supervisor = Supervisor(folder)
        self._child: Child | None = None
        self._name = name
        self.port = free_port()
        self.client = Redis(host=LOOPBACK, port=self.port, password=PASSWORD)

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@{LOOPBACK}:{self.port}/0"

    async def start(self) -> None:
        """Start it with what lies in its folder, and wait until it answers."""
        await asyncio.to_thread(self._start)

    async def kill(self) -> None:
        """End it at once; what it hadn't saved is lost."""
        self.send(signal.SIGKILL)
        assert self._child is not None
        await asyncio.to_thread(self._child.process.wait)
        await self.client.connection_pool.disconnect()

    def send(self, number: signal.Signals) -> None:
        assert self._child is not None
        self._child.send(number)

    async def save(self) -> None:
        """Keep the data as it is now: what it is started with again is this."""
        await self.client.save()
        shutil.copy(self._folder / "dump.rdb", self._folder / "kept.rdb")

    async def restart_from_what_was_saved(self) -> None:
        await self.kill()
        shutil.copy(self._folder / "kept.rdb", self._folder / "dump.rdb")
        await self.start()

    async def say(self, *words: str | int) -> Any:  # noqa: ANN401 - what a command returns is its own
        return await self.client.execute_command(*words)  # type: ignore[no-untyped-call] # redis-py's own

    async def stop(self) -> None:
        await self.client.aclose()
        await asyncio.to_thread(self._supervisor.stop)

    def _start(self) -> None:
        configuration = self._folder / "valkey.conf"
        configuration.write_text(
            f"bind {LOOPBACK}\nport {self.port}\ndir {self._folder}\nrequirepass {PASSWORD}\n"
            f'primaryauth {PASSWORD}\nappendonly no\nsave ""\nrepl-diskless-sync-delay 0\n'
        )
        command = (str(binaries.find_valkey()), str(configuration))
        program = Program(self._name, command, Tier.STORE, log=self._folder / "log")
        self._child = self._supervisor.start(program, lambda: valkey.is_ready(self.port, PASSWORD), READY_WITHIN_S)


class Line:
    """A port that leads to a server. Held, it takes what is sent and brings nothing over until it is let go."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._free = asyncio.Event()
        self._free.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._pipes: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@{LOOPBACK}:{self.port}/0"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def hold(self) -> None:
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()

    def lead_to(self, port: int) -> None:
        """Cut the connections; the next ones go to another server, as after a failover behind one address."""
        self._to = port
        for writer in list(self._writers):
            writer.transport.abort()

    async def stop(self) -> None:
        self.let_go()
        assert self._server is not None
        self._server.close()
        self.lead_to(self._to)
        for pipe in list(self._pipes):
            pipe.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(LOOPBACK, self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        pipes = [asyncio.create_task(self._pipe(reader, back)), asyncio.create_task(self._pipe(there, writer))]
        self._pipes |= set(pipes)
        await asyncio.wait(pipes)
        self._pipes -= set(pipes)
        self._writers -= {writer, back}

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Bring over what comes, even when whoever sent it has gone: a packet that is under way arrives."""
        with suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                await self._free.wait()
                writer.write(chunk)
                await writer.drain()
        writer.close()


async def stop_all(things: Sequence[OwnRedis | Line]) -> None:
    """Stop them, lines first."""
    for thing in sorted(things, key=lambda each: isinstance(each, OwnRedis)):
        await thing.stop()
