"""Whether the process lives, and whether it takes work."""

import asyncio

import pytest

from app.web import health
from app.web.health import Readiness, State
from tests.web.application import Site


async def _up() -> None: ...


async def _down() -> None:
    raise ConnectionError("refused")


async def _stuck() -> None:
    await asyncio.Event().wait()


async def test_a_process_lives_without_a_token(site: Site) -> None:
    del site.client.headers["Authorization"]
    answer = await site.client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive", "stores": {}})


async def test_a_store_that_is_down_does_not_end_readiness(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PING_TIMEOUT_S", 0.05)
    site.app.state.pings = {"postgres": _up, "redis": _down, "chroma": _stuck}
    answer = await site.client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "stores": {"postgres": "up", "redis": "down", "chroma": "down"},
        "lease": "held",
    }


@pytest.mark.parametrize(
    ("state", "ready", "serves"),
    [
        (State.STARTING, 503, 503),
        (State.READY, 200, 200),
        (State.DRAINING, 503, 200),
        (State.UNSUPPORTED_SCHEMA, 503, 503),
    ],
)
async def test_a_process_takes_work_when_it_is_ready(site: Site, state: State, ready: int, serves: int) -> None:
    site.app.state.readiness = Readiness()
    site.app.state.readiness.become(state)
    answer = await site.client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (ready, state.value)
    assert (await site.client.get("/v1/things/scope")).status_code == serves
    assert (await site.client.get("/healthz")).status_code == 200


def test_who_drains_does_not_come_back() -> None:
    readiness = Readiness()
    readiness.become(State.DRAINING)
    readiness.become(State.READY)
    assert readiness.state is State.DRAINING
