"""Whatever is done to user memory, at whichever process and in whichever order, the kept answer is the stored one."""

import uuid
from itertools import count

import httpx
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from app.wiring import Wiring
from tests.lease.remembering import AGENT, Json, Mind, same
from tests.snapshots.reading import User
from tests.snapshots.steps import STEPS, Step
from tests.snapshots.test_interleavings import properties

READS = ("/v1/preferences", "/v1/preferences/a", f"/v1/preferences/a?agent_id={AGENT}", "/v1/profile")
# Neither is bound to a version: an inference about a key, and a fact.
INFERENCES = st.builds(
    lambda key, confidence: ("/v1/preference-proposals", {"key": key, "confidence": confidence}),
    st.sampled_from(["a", "b"]),
    st.sampled_from([0.2, 0.9]),
)
FACTS: st.SearchStrategy[tuple[str, Json]] = st.just(("/v1/memories", {}))
TURNS = st.tuples(st.integers(0, 1), st.one_of(STEPS, STEPS, INFERENCES, FACTS))


@given(st.lists(TURNS, min_size=3, max_size=8))
@settings(properties, max_examples=2)
async def test_after_each_step_every_process_gives_what_is_stored(
    apis: list[FastAPI], processes: list[Wiring], tenant: str, turns: list[tuple[int, Step | tuple[str, Json]]]
) -> None:
    # Each example has a user of its own; each mind changes at one process what is read at the other.
    here = f"{tenant}-{uuid.uuid4().hex[:8]}"
    minds = [Mind(each, processes, here) for each in (apis, apis[::-1])]
    numbers = count()
    for process, turn in turns:
        answer = await taken(minds[process].writer, turn, [f"v{next(numbers)}" for _ in range(3)])
        assert answer.status_code in {200, 201, 204, 404, 409}, answer.text
        for mind in minds:
            for path in READS:
                recorded = await mind.recorded(path)
                # Twice: the first may have put it there.
                for read in (await mind.read(path), await mind.read(path)):
                    assert same(read, recorded), (turn, path, read.text)


async def taken(client: httpx.AsyncClient, turn: Step | tuple[str, Json], values: list[str]) -> httpx.Response:
    """Take a turn, a step bound to the version that is read just before."""
    if isinstance(turn, Step):
        user = User(client, client)
        return await user.take(turn, await user.version(turn), values)
    path, body = turn
    said = {"text": values[0]} if path == "/v1/memories" else {**body, "value": values[0]}
    return await client.post(path, json=said)
