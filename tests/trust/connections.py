"""Clients with a connection each, spread over the processes of the API."""

import asyncio
from contextlib import AsyncExitStack

import httpx

from tests.trust.running import API_PROCESSES, Running

AT_ONCE = 3
SHARE = 3  # of each process, at least
MOST_CONNECTIONS = 300


async def connected(stack: AsyncExitStack, up: Running, tenant: str, count: int) -> list[httpx.AsyncClient]:
    """Return clients with a connection each, of which every process of the API has some.

    Which process takes a connection is luck, and one may take a whole lot at once: so more are made, a few at a time,
    until each has its share.
    """
    made: dict[int, httpx.AsyncClient] = {}
    for _ in range(MOST_CONNECTIONS // AT_ONCE):
        clients = [up.async_client("alice", tenant) for _ in range(AT_ONCE)]
        for client in clients:
            stack.push_async_callback(client.aclose)
        answers = await asyncio.gather(*(client.get("/v1/profile") for client in clients))
        assert {answer.status_code for answer in answers} == {200}
        for answer, client in zip(answers, clients, strict=True):
            made[answer.extensions["network_stream"].get_extra_info("client_addr")[1]] = client
        held = [sorted(ports & made.keys()) for ports in up.client_ports()]
        if len(held) == API_PROCESSES and all(len(ports) >= SHARE for ports in held) and len(made) >= count:
            first = [port for ports in held for port in ports[:SHARE]]
            others = [port for ports in held for port in ports[SHARE:]]
            return [made[port] for port in (first + others)[:count]]
    raise AssertionError("one process served everything: nothing raced")
