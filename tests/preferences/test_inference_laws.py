"""Whatever is stated, proposed, decided and deleted, in whatever order and at once: no inference takes a statement's
place, no version is missing, and nobody is asked again what they have said no to.
"""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import httpx
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.conftest import MakeClient
from tests.preferences.inference import Json, at, candidates_of, messages_of, propose

PATH = "/v1/preferences/drink"
VALUES = ("tea", "coffee")
CONFIDENCES = (0.5, 1.0)

values = st.sampled_from(VALUES)
guesses = st.tuples(st.just("guess"), values, st.sampled_from(CONFIDENCES), st.sampled_from([0, 1, None]))
steps = st.one_of(
    guesses,
    guesses,
    st.tuples(st.just("say"), values),
    st.tuples(st.just("accept"), st.integers(0, 1)),
    st.tuples(st.just("reject"), st.integers(0, 1)),
    st.tuples(st.just("delete")),
    st.tuples(st.just("rollback"), st.integers(1, 5)),
)
# Steps of a wave run at once; one wave after the other.
waves = st.lists(st.lists(steps, min_size=1, max_size=3), min_size=5, max_size=10)


@dataclass
class Walk:
    """One user's memory under a sequence of waves, and what must never come again."""

    caller: httpx.AsyncClient
    evidence: Sequence[Json]
    rejected: set[tuple[str, int | None]] = field(default_factory=set)
    deleted: set[int | None] = field(default_factory=set)
    spoken: dict[str, set[int | None]] = field(default_factory=dict)
    written: int = 0

    async def run(self, wave: Sequence[tuple[object, ...]]) -> None:
        current = await self.caller.get(PATH)
        version = current.json().get("version") or current.json().get("current_version") or 0
        listed = await candidates_of(self.caller)
        refused, deleted = set(self.rejected), set(self.deleted)
        made = await asyncio.gather(*(self._step(step, version, listed) for step in wave))
        for step, answer in zip(wave, made, strict=True):
            if answer is None:
                continue
            assert answer.status_code < 500, answer.text
            if step[0] == "guess":
                self._check_guess(step, answer, refused, deleted)
        await self._note(wave, made, listed)

    async def _step(self, step: tuple[object, ...], version: int, listed: Sequence[Json]) -> httpx.Response | None:
        match step:
            case ("say", value):
                headers = at(version) if version else {"If-None-Match": "*"}
                return await self.caller.put(PATH, json={"value": value}, headers=headers)
            case ("guess", value, float(confidence), place):
                evidence = None if place is None else self.evidence[int(str(place))]
                return await propose(self.caller, value, confidence, evidence=evidence)
            case ("accept" | "reject" as verdict, int(place)) if listed:
                candidate = listed[place % len(listed)]
                path = f"/v1/preference-candidates/{candidate['id']}/{verdict}"
                return await self.caller.post(path, headers=at(candidate["version"]))
            case ("delete",):
                return await self.caller.delete(PATH, headers=at(version))
            case ("rollback", to_version):
                return await self.caller.post(f"{PATH}/rollback", json={"to_version": to_version}, headers=at(version))
        return None

    def _check_guess(
        self,
        step: tuple[object, ...],
        answer: httpx.Response,
        rejected: set[tuple[str, int | None]],
        deleted: set[int | None],
    ) -> None:
        _, value, _, place = step
        evidence = place if isinstance(place, int) else None
        outcome = answer.json()
        assert answer.status_code in {201, 409}
        if answer.status_code == 409:
            assert outcome["code"] == "already_rejected"
            return
        assert outcome["state"] in {"applied", "candidate"}
        assert (outcome["candidate"] is not None) == (outcome["state"] == "candidate")
        if outcome["because"] != "in_force":
            assert (str(value), evidence) not in rejected
            assert evidence is None or evidence not in deleted
        self.written += outcome["because"] in {"nothing_known", "surer"}
        self.spoken.setdefault(str(value), set()).add(evidence)

    async def _note(
        self, wave: Sequence[tuple[object, ...]], made: Sequence[httpx.Response | None], listed: Sequence[Json]
    ) -> None:
        """What a rejection or a deletion of this wave covers for certain is what was there before the wave."""
        earlier = {each["id"]: each for each in listed}
        for step, answer in zip(wave, made, strict=True):
            if answer is None or not answer.is_success:
                continue
            if step[0] == "reject":
                candidate = earlier[answer.json()["id"]]
                places = {self.evidence.index(each) for each in candidate["evidence"]}
                self.rejected |= {(candidate["value"], place) for place in (*places, None)}
            if step[0] == "delete":
                history = (await self.caller.get(f"{PATH}/history")).json()["items"]
                deletion = int(answer.headers["etag"].strip('"'))
                rested = [each["evidence"] for each in history if each["version"] < deletion]
                self.deleted |= {self.evidence.index(each) for each in rested if each is not None}

    async def check(self) -> None:
        answer = await self.caller.get(f"{PATH}/history")
        history = answer.json()["items"][::-1] if answer.is_success else []
        assert [entry["version"] for entry in history] == list(range(1, len(history) + 1))
        assert sum(entry["source"] == "proposal" for entry in history) == self.written
        for before, after in pairwise(history):
            if after["source"] == "proposal":
                assert before["source"] == "proposal", "an inference follows nothing but an inference"
                assert before["confidence"] <= after["confidence"]
        assert all((entry["trust"] == "inferred") == (entry["source"] == "proposal") for entry in history)
        for candidate in await candidates_of(self.caller):
            assert (
                not {(candidate["value"], self.evidence.index(each)) for each in candidate["evidence"]} & self.rejected
            )


# Not shrunk: each try is a user of their own and many requests.
@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(waves=waves)
async def test_no_inference_takes_a_statements_place(client: MakeClient, waves: list[list[tuple[object, ...]]]) -> None:
    caller = await client(f"user-{uuid.uuid4().hex[:8]}")
    walk = Walk(caller, await messages_of(caller, 2))
    for wave in waves:
        await walk.run(wave)
    await walk.check()
