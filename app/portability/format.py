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
_TAKING: Final = """
## Taking it in

`POST /v1/users/me/import` takes an archive (`application/octet-stream`, at most `CAIRN_MAX_IMPORT_BYTES`) and
answers 202. The worker takes it, and `GET /v1/users/me/imports/{id}` says how far it is and what became of each
record: `taken`, `unchanged` (it is here), `conflict` (what is here says something else, and stays), `refused`, or
`left_out`. Those that weren't taken are told with file, line, id and reason, up to 200 of them.

- An archive of a later format version is refused; of this and earlier ones all is taken.
- Ids become other ids here, always the same for the same user: an archive that is imported twice is there once. A
  fact or preference that was deleted here stays deleted; a session, message or document comes back.
- Versions keep their numbers, times, reasons and evidence. `as_of` and snapshots are of this installation: before
  the import there was nothing. Summaries, constraints, passages and vectors are made anew; documents go through
  ingestion.
- What the user stated stays their word (`explicit`) where the archive is of the same `sub` and the token holds
  `preferences:explicit`. Otherwise, and for what an operator wrote, the trust is `imported`. What was inferred
  stays inferred.
- Each kind needs its scope (`sessions:write`, `knowledge:write`, `profile:write`, `preferences:write`,
  `memories:write`); an agent's token takes no values of other agents. The tenant's catalogue and every quota hold,
  and numbers that are never stored are masked.
- Not taken: contexts, marks, usage, registered secrets and the audit. They say what another installation did.

Dumps of others are recognised, or named by `?source=`. What is in them is `imported`. A text that is too long for one
fact becomes several.

| `source` | what is taken |
|---|---|
| `mem0` | the answer to `get_all` (`results`, or a list): {memory, metadata, created_at, updated_at}, a fact each |
| `letta` | an agent file (`.af`): blocks (but the persona's) and passages are facts, messages a session of each agent |
| `langgraph` | items of a store: {namespace, key, value, created_at, updated_at}, by the text of its value |
| `jsonl` | lines: {text, id?, metadata?, created_at?} or a text is a fact, {role, content, ...} a message |

A dump that is one JSON document may have 16 MiB; lines may be as many as an archive's.
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
        f"{_INTRODUCTION}{table}{_DOCUMENTS}{_TAKING}\n## What isn't in it\n\n| data | why |\n|---|---|\n{omitted}"
        f"\n## Schemas\n\nJSON Schema (2020-12): of the manifest, and of a line of each other file.\n{schemas}"
    )


def schema_of(model: type) -> dict[str, object]:
    """Return the JSON Schema of a record, as it is written."""
    return TypeAdapter(model).json_schema(mode="serialization")


def _first_line(model: type) -> str:
    return (model.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ").replace("\n", " ")
