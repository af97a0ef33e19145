"""The plain loop as a process of its own, between the service and a model's endpoint."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator

import pytest_asyncio
import uvicorn
from fastapi import FastAPI

from tests.conftest import MakeClient, make_token
from tests.examples.conftest import EXAMPLES
from tests.summarisers.endpoint import running, said

WITHIN_S = 60


@pytest_asyncio.fixture
async def base_url(app: FastAPI) -> AsyncIterator[str]:
    """Where the application answers over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        serving = asyncio.create_task(server.serve([listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        await serving


async def test_the_loop_tells_the_model_what_is_known_and_keeps_what_it_says(
    base_url: str, client: MakeClient, tenant: str
) -> None:
    alice = await client()
    await alice.put("/v1/preferences/tone", json={"value": "formal"}, headers={"If-None-Match": "*"})
    with running() as model:
        model.answers = [said("Guten Tag."), said("Um zehn Uhr.")]
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "CAIRN_TOKEN": make_token("alice", tenant),
            "CAIRN_URL": base_url,
            "MODEL_URL": model.url,
            "MODEL": "scripted",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLES / "plain_loop.py"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
        )
        async with asyncio.timeout(WITHIN_S):
            printed, _ = await process.communicate(b"Good morning\nWhen does it open?\n")
        told = [body["messages"] for body in model.bodies]
    assert process.returncode == 0
    assert printed.decode().split("\n") == ["Guten Tag.", "Um zehn Uhr.", ""]
    assert "formal" in told[0][0]["content"]
    assert "Guten Tag." in told[1][0]["content"]
    session = (await alice.post("/v1/sessions", json={"external_id": "terminal"})).json()["id"]
    kept = (await alice.get(f"/v1/sessions/{session}/messages")).json()["items"]
    assert [each["role"] for each in kept] == ["assistant", "user", "assistant", "user"]
    assert kept[0]["context_id"] != kept[2]["context_id"]


def test_it_stays_short_enough_to_be_read_at_a_glance() -> None:
    code = (EXAMPLES / "plain_loop.py").read_text(encoding="utf-8").partition("import httpx\n")[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
