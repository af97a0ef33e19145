"""User memory over HTTP: the requests of the steps, and what reads show in the shape of the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.snapshots.steps import ERASED, PLACES, WRITER, Held, Step

MERGE_PATCH = "application/merge-patch+json"
Json = dict[str, Any]  # Any: JSON of the API


@dataclass(frozen=True)
class User:
    """One user, through the agent `writer` and through none."""

    writer: httpx.AsyncClient
    nobody: httpx.AsyncClient

    async def version(self, step: Step) -> int:
        """Return the newest version of what a step changes; of a deleted preference that of its stub."""
        path = f"/v1/preferences/{step.held[0]}" if step.held[0] else "/v1/profile"
        shown = (await self.writer.get(path, params=_named(step.held))).json()
        return int(shown.get("version", shown.get("current_version", 0)))

    async def take(self, step: Step, version: int, values: list[str]) -> httpx.Response:
        """Take a step that is bound to a version. `values` are what it puts, in their order."""
        headers = {"If-Match": f'"{version}"'}
        if not step.held[0]:
            return await self._take_profile(step, version, values, headers)
        if not version:
            headers = {"If-None-Match": "*"}
        path, named = f"/v1/preferences/{step.held[0]}", _named(step.held)
        match step.verb:
            case "put":
                return await self.writer.put(path, params=named, json={"value": values[0]}, headers=headers)
            case "delete":
                return await self.writer.delete(path, params=named, headers=headers)
            case _:
                body = {"to_version": max(version - step.back, 1)}
                return await self.writer.post(f"{path}/rollback", params=named, json=body, headers=headers)

    async def _take_profile(
        self, step: Step, version: int, values: list[str], headers: dict[str, str]
    ) -> httpx.Response:
        match step.verb:
            case "patch":
                new = iter(values)
                said: Json = {}
                for place, is_put in step.places.items():
                    field, _, name = place.partition("/")
                    value = next(new) if is_put else None
                    said[field] = said.get(field, {}) | {name: value} if name else value
                return await self.writer.patch(
                    "/v1/profile", json=said, headers=headers | {"Content-Type": MERGE_PATCH}
                )
            case "erase":
                (place,) = step.places
                return await self.writer.delete(f"/v1/profile/fields/{place}", headers=headers)
            case _:
                body = {"to_version": max(version - step.back, 0)}
                return await self.writer.post("/v1/profile/rollback", json=body, headers=headers)

    async def profile(self, **moment: str) -> Json:
        """Read the profile."""
        return await _get(self.nobody, "/v1/profile", moment)

    async def in_force(self, agent: str, **moment: str) -> Json:
        """Read the preferences in force for an agent, "" for none."""
        return await _get(self.writer if agent == WRITER else self.nobody, "/v1/preferences", moment)

    async def versions(self, held: Held | None) -> list[Json]:
        """Return the whole history of a preference, or with None of the profile, oldest first."""
        path = f"/v1/preferences/{held[0]}/history" if held else "/v1/profile/history"
        page = await _get(self.writer, path, {"limit": "200", **(_named(held) if held else {})})
        assert page["next_cursor"] is None
        items: list[Json] = page["items"]
        return items[::-1]


def facts(shown: Json) -> tuple[int, dict[str, object]]:
    """Return the version of a profile, and what stands at each place."""
    there: dict[str, object] = {}
    for place in PLACES:
        field, _, name = place.partition("/")
        value = shown[field].get(name) if name else shown[field]
        if place in shown["erased"]:
            assert value is None
            there[place] = ERASED
        elif value is not None:
            there[place] = value
    return shown["version"], there


def preferences(shown: Json) -> dict[str, tuple[str, int, object]]:
    """Return whose value of each key is in force, its version, and the value."""
    return {item["key"]: (item["agent_id"] or "", item["version"], value(item)) for item in shown["items"]}


def value(item: Json) -> object:
    """Return the value of a version of a preference."""
    if item["state"] == "kept":
        return item["value"]
    assert item["value"] is None
    return ERASED if item["state"] == "erased" else None


def _named(held: Held) -> Mapping[str, str]:
    return {"agent_id": held[1]} if held[1] else {}


async def _get(client: httpx.AsyncClient, path: str, params: Mapping[str, str]) -> Json:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    shown: Json = answer.json()
    return shown
