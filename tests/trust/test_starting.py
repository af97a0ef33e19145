"""A process that is started before its database is up waits for it: whoever started it needn't start it again."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.conftest import eventually
from tests.trust.deployment import Deployment, Part
from tests.trust.running import LOOPBACK, MODULE_TIMEOUT_S

ASKED_WITHIN_S = 60  # by the API as well, which looks for it all the time
AT_WORK_WITHIN_S = 60.0

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


async def test_a_worker_waits_for_its_database_and_then_works(deployment: Deployment, tenant: str) -> None:
    await deployment.kill(Part.WORKER)
    await deployment.kill(Part.POSTGRES)
    try:
        with nobody_home(port_of(deployment.database_url)) as door:
            await deployment.begin_again(Part.WORKER)
            await asyncio.to_thread(knock, door, deployment)
    finally:
        await deployment.begin_again(Part.POSTGRES)

    async with deployment.api.async_client("alice", tenant) as alice:

        async def is_indexed() -> bool:
            answer = await alice.post("/v1/recall", json={"query": "harbour"})
            return answer.status_code == 200 and answer.json()["index"]["pending"] == 0 and bool(answer.json()["hits"])

        async def is_said() -> bool:
            made = await alice.post("/v1/sessions", json={"external_id": "early"})
            if made.status_code >= 500:  # the API has yet to see that the database is back
                return False
            path = f"/v1/sessions/{made.json()['id']}/messages"
            said = await alice.post(path, json={"messages": [{"role": "user", "content": "The harbour is closed."}]})
            return said.status_code == 201

        await eventually(is_said, AT_WORK_WITHIN_S)
        await eventually(is_indexed, AT_WORK_WITHIN_S)
    assert deployment.is_running(Part.WORKER)


@contextmanager
def nobody_home(port: int) -> Iterator[socket.socket]:
    """Listen where the database will be, so that it can be told when somebody looks for it."""
    with socket.create_server((LOOPBACK, port)) as door:
        door.settimeout(ASKED_WITHIN_S)
        yield door


def knock(door: socket.socket, deployment: Deployment) -> None:
    """Wait until the worker comes, and send it away as everybody else who looks for the database."""
    came = False
    while not came:
        connection, (_, port) = door.accept()
        with connection:
            came = port in deployment.ports_of(Part.WORKER)


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
