"""No way in keeps the number of a card: every body of every route masks or refuses it, in each field of text."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ValidationError

from app.web.wire import Request
from tests.house.routes import Contract

CARD = "4111111111111111"
MASK = "[bank card number withheld]"
KEEP = frozenset({"POST", "PUT", "PATCH"})

TAKE_SECRETS = {
    "LookupRequest": "a subject is looked up by a keyed hash and kept nowhere",
    "SecretRequest": "a registered value becomes a salted, keyed hash",
    "PatternRequest": "its examples are tried and kept nowhere, and its description is masked by itself",
    "VerificationRequest": "a claimed value is compared, and kept nowhere",
    "RevocationRequest": "what is revoked is kept as a keyed hash",
}
# Routes that read a body by themselves.
STREAMED = {
    "POST /v1/knowledge/uploads": "its fields are an UploadRequest, and ingestion masks the text of the file",
    "POST /v1/users/me/import": "each record of an archive is a Request, and ingestion masks the texts of its files",
}


def _bodies(app: FastAPI) -> Iterator[tuple[str, type[BaseModel] | None]]:
    for route in iter_route_contexts(app.routes):
        field = getattr(route, "body_field", None)
        for method in sorted((route.methods or set()) & KEEP):
            yield f"{method} {route.path}", None if field is None else field.field_info.annotation


def test_every_body_is_a_request_that_masks(app: FastAPI) -> None:
    bodies = dict(_bodies(app))
    assert len(bodies) > 15
    for name, model in bodies.items():
        if model is not None:
            assert issubclass(model, Request), f"{name} takes a body that isn't masked"
            assert model.takes_secrets == (model.__name__ in TAKE_SECRETS), f"{name}: see TAKE_SECRETS"


def test_only_listed_routes_read_a_body_by_themselves(app: FastAPI) -> None:
    contract = app.openapi()
    bodies = dict(_bodies(app))
    for path, operations in contract["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            if "requestBody" in operation and bodies.get(name) is None:
                assert name in STREAMED, f"{name} reads a body that nothing masks"


def _planted(app: FastAPI) -> Iterator[tuple[str, type[Request], Any]]:  # Any: JSON of any shape
    """Yield every body with a card's number in one of its fields, and what that field requires beside it."""
    for name, model in _bodies(app):
        if model is None or not issubclass(model, Request) or model.takes_secrets:
            continue
        schema = model.model_json_schema()
        required = {field: _value(schema["properties"][field], schema) for field in schema.get("required", ())}
        for field, inner in schema["properties"].items():
            value = _value(inner, schema)
            if CARD in json.dumps(value):
                yield f"{name} {field}", model, {**required, field: value}


def _value(schema: Contract, root: Contract) -> Any:  # noqa: ANN401 - JSON of any shape
    if "$ref" in schema:
        return _value(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return _value(schema["anyOf"][0], root)
    if "enum" in schema:
        # An assistant may say and call whatever there is.
        return "assistant" if "assistant" in schema["enum"] else schema["enum"][0]
    match schema.get("type"):
        case "string":
            return _string(schema)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "array":
            return [_value(schema["items"], root)]
        case "object" if "properties" in schema:
            return {name: _value(inner, root) for name, inner in schema["properties"].items()}
        case _:
            return {CARD: [CARD, int(CARD), {"deep": f"我的卡号是{CARD}谢谢"}]}


def _string(schema: Contract) -> str:
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    # Ids and keys have a form, which no number fits.
    return f"x.{CARD}" if "pattern" in schema else f"我的卡号是{CARD}谢谢"


def test_no_field_of_a_write_lets_a_card_through(app: FastAPI) -> None:
    masked: list[str] = []
    for name, model, body in _planted(app):
        try:
            shown = model.model_validate(body).model_dump_json()
        except ValidationError:
            continue  # refused: nothing is kept
        assert CARD not in shown, name
        assert "隐去" in shown or MASK in shown, name
        masked.append(name)
    expected = {
        "POST /v1/sessions title",
        "POST /v1/sessions metadata",
        "PATCH /v1/profile attributes",
        "PATCH /v1/profile name",
        "PUT /v1/preferences/{key} value",
        "PUT /v1/preferences/{key} reason",
        "POST /v1/memories text",
        "POST /v1/knowledge/documents text",
        "POST /v1/context query",
    }
    assert expected <= set(masked), masked


def test_messages_and_batches_let_none_through(app: FastAPI) -> None:
    models = {name: model for name, model in _bodies(app) if model is not None}
    call = {"id": CARD, "function": {"name": "pay", "arguments": f'{{"card": {CARD}}}'}}
    said = {"role": "assistant", "content": CARD, "name": CARD, "tool_calls": [call], "metadata": {CARD: CARD}}
    answered = {"role": "tool", "content": f"付了{CARD}元", "tool_call_id": CARD}
    item = {"key": "a.key", "value": {"card": int(CARD)}, "reason": CARD, "version": None}
    for name, body in (
        ("POST /v1/sessions/{session_id}/messages", {"messages": [said, answered]}),
        ("PUT /v1/preferences", {"items": [item]}),
        ("POST /v1/preference-proposals", {"key": "a.key", "value": [CARD], "confidence": 0.5, "reason": CARD}),
    ):
        shown = models[name].model_validate(body).model_dump_json()
        assert CARD not in shown
        assert MASK in shown


def test_a_number_by_which_something_is_found_is_refused(app: FastAPI) -> None:
    models = {name: model for name, model in _bodies(app) if model is not None}
    with pytest.raises(ValidationError) as refused:
        models["POST /v1/sessions"].model_validate({"external_id": CARD})
    assert CARD not in str(refused.value.errors(include_input=False, include_url=False))
