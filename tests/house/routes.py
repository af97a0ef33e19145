"""The rules that an application's routes can be held against, and the routes that each lets pass, with the reason."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext, iter_route_contexts

Contract = dict[str, Any]  # Any: an OpenAPI document is JSON of many shapes; test_openapi.py has it validated

PUBLIC = {
    "GET /healthz": "a probe has no token",
    "GET /readyz": "a probe has no token",
    "GET /openapi.json": "the contract is no secret",
    "GET /.well-known/cairn-keys.json": "whoever is shown a certificate can check its signature",
    "GET /v1/erasures/{erasure_id}": "readable by the receipt's secret, when the user and every token are gone",
    "POST /v1/erasures/{erasure_id}/verify": "the same",
}

CHANGES_WITHOUT_A_VERSION = {
    "PUT /v1/admin/users/{user_id}/secrets/{secret_type}": "a hash has no version to be stale",
    "DELETE /v1/admin/users/{user_id}/secrets/{secret_type}": "the same",
    "DELETE /v1/admin/users/{user_id}": "a user has no version; an erasure is never stale",
    "DELETE /v1/users/me": "a user has no version; an erasure is never stale",
    "PUT /v1/preferences": "a batch: each of its items names its own version",
    "DELETE /v1/sessions/{session_id}/messages/{message_id}": "a message never changes: it has no version to be stale",
}

_CHANGES = frozenset({"PUT", "PATCH", "DELETE"})
_PRECONDITIONS = frozenset({"if-match", "if-none-match"})


def lacks_a_scope(app: FastAPI) -> Iterator[str]:
    """Every route asks `allow(permission)`, or is a raw endpoint that carries its permission, or is public."""
    for route in iter_route_contexts(app.routes):
        for method in sorted((route.methods or {"*"}) - {"HEAD"}):
            name = f"{method} {route.path}"
            if name not in PUBLIC and not _permission(route):
                yield f"{name} needs no scope and isn't in the list of public routes"


def _permission(route: RouteContext) -> str | None:
    dependant: Dependant | None = getattr(route, "dependant", None)
    asked = (route.endpoint,) if dependant is None else (each.call for each in _tree(dependant))
    return next((permission for call in asked if (permission := getattr(call, "permission", None))), None)


def _tree(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for each in dependant.dependencies:
        yield from _tree(each)


def lacks_a_precondition(contract: Contract) -> Iterator[str]:
    """Every change of a resource takes a precondition, and whatever takes one declares 412 and 428."""
    for name, operation in _operations(contract):
        conditional = bool(
            _PRECONDITIONS & {parameter["name"].lower() for parameter in operation.get("parameters", [])}
        )
        if name.startswith("GET "):
            continue
        if not conditional and name.partition(" ")[0] in _CHANGES and name not in CHANGES_WITHOUT_A_VERSION:
            yield f"{name} changes a resource and takes no precondition"
        if conditional and not {"412", "428"} <= operation["responses"].keys():
            yield f"{name} takes a precondition and doesn't declare 412 and 428"


def _operations(contract: Contract) -> Iterator[tuple[str, Contract]]:
    for path, operations in contract["paths"].items():
        yield from ((f"{method.upper()} {path}", operation) for method, operation in operations.items())
