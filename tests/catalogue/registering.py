"""What tests of the catalogue do: register keys as an operator of the tenant."""

from typing import Any

import httpx

ABSENT = {"If-None-Match": "*"}
KEYS = "/v1/admin/catalog/preferences"
Json = dict[str, Any]  # Any: JSON of the API


def at(version: int) -> dict[str, str]:
    return {"If-Match": f'"{version}"'}


def said(**changes: object) -> Json:
    """Return a body that registers a key."""
    return {"schema": {}, "description": "for a test", **changes}


async def register(operator: httpx.AsyncClient, key: str, version: int = 0, **changes: object) -> Json:
    headers = at(version) if version else ABSENT
    answer = await operator.put(f"{KEYS}/{key}", json=said(**changes), headers=headers)
    assert answer.is_success, answer.text
    registered: Json = answer.json()
    return registered
