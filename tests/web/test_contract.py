"""The OpenAPI document: valid, complete, and the same for every route of a kind."""

from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from openapi_spec_validator import validate

from app.web import contract, health
from app.web.problems import MEDIA_TYPE
from tests.web.application import make_app


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_app().openapi()


def _operation(document: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = document["paths"][path][method]
    return operation


def test_it_is_valid_and_holds_every_route(document: dict[str, Any]) -> None:
    validate(document)
    assert len(document["paths"]) == 15
    assert _operation(document, "put", "/v1/things/{thing_id}")["operationId"] == "things_replace"


def test_every_problem_has_one_form(document: dict[str, Any]) -> None:
    assert not {"HTTPValidationError", "ValidationError"} & document["components"]["schemas"].keys()
    for path in document["paths"].values():
        for operation in path.values():
            problems = {status: told for status, told in operation["responses"].items() if status >= "4"}
            assert {"422", "default"} <= problems.keys()
            told = [list(told["content"]) for status, told in problems.items() if status != "503"]
            assert told == [[MEDIA_TYPE]] * len(told)


def test_a_route_with_a_scope_says_which_and_what_it_answers_without(document: dict[str, Any]) -> None:
    operation = _operation(document, "get", "/v1/things/{thing_id}")
    assert operation["security"] == [{"token": ["sessions:read"]}]
    assert {"401", "403", "410", "422", "503"} <= operation["responses"].keys()
    assert "security" not in _operation(document, "get", "/healthz")


def test_a_conditional_route_says_its_headers_and_answers(document: dict[str, Any]) -> None:
    operation = _operation(document, "put", "/v1/things/{thing_id}")
    headers = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "header"}
    assert headers == {"If-Match", "If-None-Match", "Idempotency-Key"}
    assert {"409", "412", "413", "415", "428"} <= operation["responses"].keys()


def test_what_a_route_declares_stands_with_what_all_answer(document: dict[str, Any]) -> None:
    described = _operation(document, "post", "/v1/things")["responses"]["409"]["description"]
    assert "`conflict`" in described
    assert "`in_progress`" in described


def test_a_merge_patch_has_its_content_type(document: dict[str, Any]) -> None:
    body = _operation(document, "patch", "/v1/things/{thing_id}")["requestBody"]
    assert list(body["content"]) == ["application/merge-patch+json"]


def test_two_operations_of_one_name_are_an_error_of_ours() -> None:
    router = APIRouter(tags=["health"])
    router.add_api_route("/other", health.read_health)
    app = contract.Api(generate_unique_id_function=contract.operation_id)
    app.include_router(health.router)
    app.include_router(router)
    with pytest.warns(UserWarning, match="Duplicate"), pytest.raises(ValueError, match="health_read_health"):
        app.openapi()


def test_the_document_is_the_same_each_time() -> None:
    def fresh() -> dict[str, Any]:
        app: FastAPI = make_app()
        return app.openapi()

    assert fresh() == fresh()
