"""Any order of writes, deletions and rollbacks leaves a gapless history, and snapshots that only a deletion changes."""

import random
from dataclasses import dataclass, field

import httpx
import pytest

from tests.conftest import MakeClient

KEYS = ("a", "b", "c")
STEPS = 40
ERASED = "<erased>"


@dataclass
class Model:
    """What must be true of one key: the value of each version, None for a deletion, ERASED for what a deletion took."""

    versions: list[object] = field(default_factory=list)

    @property
    def is_kept(self) -> bool:
        return bool(self.versions) and self.versions[-1] is not None

    def delete(self) -> None:
        self.versions = [value and ERASED for value in self.versions] + [None]


class Walk:
    """One random walk over the preferences of one user, beside the model of what must come out."""

    def __init__(self, caller: httpx.AsyncClient, seed: int) -> None:
        self.caller = caller
        self.random = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self.models = {key: Model() for key in KEYS}
        # Of each snapshot: the version of each key that was in force.
        self.taken: dict[str, dict[str, int]] = {}

    async def step(self, number: int) -> None:
        key = self.random.choice(KEYS)
        model = self.models[key]
        version = len(model.versions)
        headers = {"If-Match": f'"{version}"'} if version else {"If-None-Match": "*"}
        path = f"/v1/preferences/{key}"
        match self.random.choice(("state", "state", "delete", "rollback")):
            case "delete":
                answer = await self.caller.delete(path, headers=headers)
                assert answer.status_code == (204 if model.is_kept else 404)
                if model.is_kept:
                    model.delete()
            case "rollback" if version:
                to_version = self.random.randint(1, version)
                body = {"to_version": to_version}
                answer = await self.caller.post(f"{path}/rollback", json=body, headers=headers)
                value = model.versions[to_version - 1]
                assert answer.status_code == (409 if value in (None, ERASED) else 200)
                if answer.is_success:
                    model.versions.append(value)
            case _:
                answer = await self.caller.put(path, json={"value": f"v{number}"}, headers=headers)
                assert answer.status_code == (200 if model.is_kept else 201)
                model.versions.append(f"v{number}")

    async def take(self) -> None:
        page = (await self.caller.get("/v1/preferences")).json()
        current = {key: len(model.versions) for key, model in self.models.items() if model.is_kept}
        assert {item["key"]: item["version"] for item in page["items"]} == current
        self.taken[page["snapshot"]] = current

    async def check(self) -> None:
        for key, model in self.models.items():
            if model.versions:
                history = (await self.caller.get(f"/v1/preferences/{key}/history")).json()["items"]
                assert [entry["version"] for entry in history] == list(range(len(model.versions), 0, -1))
                assert [_shown(entry) for entry in reversed(history)] == model.versions
        for snapshot, then in self.taken.items():
            page = (await self.caller.get("/v1/preferences", params={"snapshot": snapshot})).json()
            assert page["snapshot"] == snapshot
            assert {item["key"]: (item["version"], _shown(item)) for item in page["items"]} == {
                key: (version, self.models[key].versions[version - 1]) for key, version in then.items()
            }


def _shown(entry: dict[str, object]) -> object:
    return ERASED if entry["state"] == "erased" else entry["value"]


@pytest.mark.parametrize("seed", range(5))
async def test_a_random_walk_comes_out_as_the_model_says(client: MakeClient, seed: int) -> None:
    walk = Walk(await client(), seed)
    for number in range(STEPS):
        await walk.step(number)
        await walk.take()
    await walk.check()
