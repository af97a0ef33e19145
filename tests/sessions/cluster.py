"""A Redis Cluster of a test's own: three primaries and their replicas, real nodes on loopback."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.infra.embedded import binaries, valkey
from app.infra.embedded.ports import LOOPBACK, free_port
from app.infra.embedded.process import Child, Program, Supervisor, Tier

PASSWORD = "of-the-cluster"
PRIMARIES = 3
NODES = 6
SLOTS = 16_384
READY_WITHIN_S = 20
NODE_TIMEOUT_MS = 1_000
POLL_S = 0.05


@dataclass
class Node:
    """One server, and a client of it alone."""

    child: Child
    port: int
    bus_port: int
    client: Redis

    async def say(self, *words: str | int) -> Any:  # noqa: ANN401 - what a command returns is its own
        return await self.client.execute_command(*words)  # type: ignore[no-untyped-call] # redis-py's own

    async def facts(self, section: str) -> dict[str, str]:
        """Return an INFO or CLUSTER INFO of the node; empty where it doesn't answer."""
        command = ("CLUSTER", "INFO") if section == "cluster" else ("INFO", section)
        try:
            answer = await self.say(*command)
        except (RedisError, OSError):
            return {}
        if isinstance(answer, dict):  # the client has parsed it
            return {str(name): str(value) for name, value in answer.items()}
        text = answer.decode() if isinstance(answer, bytes) else answer
        pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
        return {name: value.strip() for name, _, value in pairs}


class Cluster:
    """Six nodes, of which the first three begin as primaries."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._supervisor = Supervisor(folder)
        self.nodes: list[Node] = []

    @property
    def url(self) -> str:
        """Where a client begins: at a replica, for primaries are killed."""
        return f"cluster+redis://:{PASSWORD}@{LOOPBACK}:{self.nodes[-1].port}"

    async def start(self) -> None:
        """Start the nodes, let them meet, share the slots out, and wait until every replica has its primary's data."""
        for number in range(NODES):
            await asyncio.to_thread(self._start_node, number)
        first, *others = self.nodes
        for epoch, node in enumerate(self.nodes, 1):
            await node.say("CLUSTER", "SET-CONFIG-EPOCH", epoch)
        for node in others:
            await first.say("CLUSTER", "MEET", LOOPBACK, node.port, node.bus_port)
        share = SLOTS // PRIMARIES
        for number, node in enumerate(self.nodes[:PRIMARIES]):
            last = SLOTS - 1 if number == PRIMARIES - 1 else (number + 1) * share - 1
            await node.say("CLUSTER", "ADDSLOTSRANGE", number * share, last)
        await self._all_say("cluster", "cluster_known_nodes", str(NODES), self.nodes)
        for number, node in enumerate(self.nodes[PRIMARIES:]):
            await self._follow(node, self.nodes[number])
        await self._all_say("cluster", "cluster_state", "ok", self.nodes)
        await self._all_say("replication", "master_link_status", "up", self.nodes[PRIMARIES:])

    async def stop(self) -> None:
        for node in self.nodes:
            await node.client.aclose()
        await asyncio.to_thread(self._supervisor.stop)

    async def primary_of(self, key: str) -> Node:
        """Return the node that serves a key, as the others see it."""
        living = [node for node in self.nodes if node.child.running]
        slot = await living[0].say("CLUSTER", "KEYSLOT", key)
        for start, end, (_, port, *_), *_ in await living[0].say("CLUSTER", "SLOTS"):
            if start <= slot <= end:
                return next(node for node in self.nodes if node.port == port)
        raise AssertionError(f"no node serves slot {slot}")

    async def _follow(self, replica: Node, primary: Node) -> None:
        """Make it a replica, once it has heard of its primary."""
        primary_id = await primary.say("CLUSTER", "MYID")
        async with asyncio.timeout(READY_WITHIN_S):
            while primary_id not in await replica.say("CLUSTER", "NODES"):  # noqa: ASYNC110 - it happens elsewhere
                await asyncio.sleep(POLL_S)
            await replica.say("CLUSTER", "REPLICATE", primary_id)

    async def _all_say(self, section: str, fact: str, value: str, nodes: Sequence[Node]) -> None:
        async with asyncio.timeout(READY_WITHIN_S):
            for node in nodes:
                while (await node.facts(section)).get(fact) != value:  # noqa: ASYNC110 - it happens elsewhere
                    await asyncio.sleep(POLL_S)

    def _start_node(self, number: int) -> None:
        folder = self._folder / f"node-{number}"
        folder.mkdir()
        port, bus_port = free_port(), free_port()
        configuration = folder / "valkey.conf"
        configuration.write_text(
            f"bind {LOOPBACK}\nport {port}\ncluster-port {bus_port}\ndir {folder}\n"
            f'requirepass {PASSWORD}\nprimaryauth {PASSWORD}\nappendonly no\nsave ""\ncluster-enabled yes\n'
            f"cluster-node-timeout {NODE_TIMEOUT_MS}\nrepl-diskless-sync-delay 0\n"
        )
        command = (str(binaries.find_valkey()), str(configuration))
        program = Program(f"node-{number}", command, Tier.STORE, log=folder / "log")
        child = self._supervisor.start(program, lambda: valkey.is_ready(port, PASSWORD), READY_WITHIN_S)
        self.nodes.append(Node(child, port, bus_port, Redis(host=LOOPBACK, port=port, password=PASSWORD)))
