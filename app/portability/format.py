"""The description of the format, made from the code: docs/export-format.md."""

import json
from collections.abc import Mapping
from typing import Final

from pydantic import TypeAdapter

from app.portability.manifest import FILE, FORMAT_VERSION, Manifest

_INTRODUCTION: Final = f"""# The format of exports

Made by `cairn export-format --write` from the code; a check compares it. This is version {FORMAT_VERSION}.

`GET /v1/users/me/export` answers one zip with everything about the user, as of one moment. It is streamed, and its last
file is `{FILE}`: an archive without that broke off. Text is UTF-8, times are RFC 3339 in UTC, ids are those of the
installation it comes from. A file that ends in `.jsonl` holds one JSON object a line. Fields may be added within a
version; whoever reads passes over those that they don't know.

| file | what is in it |
|---|---|
"""
_DOCUMENTS: Final = """| `documents/{id}/original` | the bytes of a document as they came |
| `documents/{id}/text.txt` | the text of a document as it is searched, without the numbers that are never stored |
"""


def export_format_markdown(records: Mapping[str, type], left_out: Mapping[str, str]) -> str:
    """Return the description: the files with the schema of their lines, and what is left out."""
    models = {FILE: Manifest, **records}
    table = "".join(f"| `{path}` | {_first_line(model)} |\n" for path, model in models.items())
    omitted = "".join(f"| `{name}` | {why} |\n" for name, why in left_out.items())
    schemas = "".join(
        f"\n### `{path}`\n\n```json\n{json.dumps(schema_of(model), indent=1, ensure_ascii=False)}\n```\n"
        for path, model in models.items()
    )
    return (
        f"{_INTRODUCTION}{table}{_DOCUMENTS}\n## What isn't in it\n\n| data | why |\n|---|---|\n{omitted}"
        f"\n## Schemas\n\nJSON Schema (2020-12): of the manifest, and of a line of each other file.\n{schemas}"
    )


def schema_of(model: type) -> dict[str, object]:
    """Return the JSON Schema of a record, as it is written."""
    return TypeAdapter(model).json_schema(mode="serialization")


def _first_line(model: type) -> str:
    return (model.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ").replace("\n", " ")
