"""The OpenAPI file is valid, and what the application makes."""

import json

from openapi_spec_validator import validate

from app.commands.documents import OPENAPI_FILE
from app.main import openapi_document
from tests.house.source import ROOT


def test_the_openapi_file_equals_what_the_application_makes() -> None:
    assert json.loads((ROOT / OPENAPI_FILE).read_text("utf-8")) == openapi_document()


def test_the_openapi_document_is_valid() -> None:
    validate(openapi_document())
