"""The catalogue on the wire."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from app.preferences.catalogue.model import MAX_ENUMERATION, Closing, Entry, Merge, Registration
from app.preferences.catalogue.schema import MAX_DEPTH, require_schema
from app.preferences.model import canonical
from app.web.wire import Answer, Moment, Request, json_within, wrong

MAX_TEXT_CHARS = 1_000
MAX_SCHEMA_BYTES = 16_384

Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
EnumerationText = Annotated[str, Field(max_length=200, strict=True)]
# Not null: that is what a value that isn't there looks like in statistics.
EnumerationValue = (
    EnumerationText
    | Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
)


def _of_different_values(values: list[Any]) -> list[Any]:  # Any: scalars of JSON
    if len({canonical(value) for value in values}) < len(values):
        raise wrong("must name each value once")
    return values


class CatalogueNames(Request):
    """What people call the key."""

    zh: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    en: Annotated[str, Field(min_length=1, max_length=128)] | None = None


class CatalogueKeyRequest(Request):
    """What the tenant says of a key.

    `schema` is a JSON Schema of draft 2020-12. `enumeration`: the only values; they stay readable in the database, for
    statistics, unless the key is `sensitive`. `merge`: whether a stale write is refused, or succeeds and says so.
    `commitment`: approvals, consents, amounts. `sensitive`: kept where the user says it, never inferred.
    """

    json_schema: Annotated[
        dict[str, JsonValue], AfterValidator(json_within(MAX_DEPTH, MAX_SCHEMA_BYTES)), Field(alias="schema")
    ]
    enumeration: (
        Annotated[
            list[EnumerationValue],
            Field(min_length=1, max_length=MAX_ENUMERATION),
            AfterValidator(_of_different_values),
        ]
        | None
    ) = None
    merge: Literal["refuse", "last_write"] = "refuse"
    commitment: Annotated[bool, Field(strict=True)] = False
    sensitive: Annotated[bool, Field(strict=True)] = False
    description: Text
    names: CatalogueNames = CatalogueNames()


class CatalogueNamesAnswer(Answer):
    """What people call the key."""

    zh: str | None
    en: str | None


class CatalogueKeyAnswer(Answer):
    """A registered key."""

    model_config = ConfigDict(serialize_by_alias=True)

    key: str
    version: int
    json_schema: Annotated[dict[str, JsonValue], Field(serialization_alias="schema")]
    enumeration: list[JsonValue] | None
    merge: str = Field(examples=["refuse", "last_write"])
    commitment: bool
    sensitive: bool
    description: str
    names: CatalogueNamesAnswer
    updated_at: Moment


class CatalogueAnswer(Answer):
    """Registered keys in their order."""

    items: list[CatalogueKeyAnswer]
    next_cursor: str | None


class CatalogueSettings(Request):
    """Whether keys that aren't registered are refused."""

    closed: Annotated[bool, Field(strict=True)]


class CatalogueSettingsAnswer(Answer):
    """Whether keys that aren't registered are refused. Version 0: nobody has said, and they aren't."""

    closed: bool
    version: int


def registration(body: CatalogueKeyRequest) -> Registration:
    """Return what a body says of a key. Raises `invalid` for a schema that isn't one."""
    require_schema(body.json_schema, "schema")
    return Registration(
        schema=body.json_schema,
        enumeration=body.enumeration,
        merge=Merge(body.merge),
        commitment=body.commitment,
        sensitive=body.sensitive,
        description=body.description,
        names={name: text for name, text in (("zh", body.names.zh), ("en", body.names.en)) if text is not None},
    )


def entry_answer(entry: Entry) -> CatalogueKeyAnswer:
    """Show a registered key."""
    said = entry.registration
    if said is None:
        raise TypeError("a stub isn't shown")
    return CatalogueKeyAnswer.model_validate(
        {
            "key": entry.key,
            "version": entry.version,
            "json_schema": said.schema,
            "enumeration": said.enumeration,
            "merge": said.merge.value,
            "commitment": said.commitment,
            "sensitive": said.sensitive,
            "description": said.description,
            "names": {"zh": said.names.get("zh"), "en": said.names.get("en")},
            "updated_at": entry.updated_at,
        }
    )


def catalogue_answer(entries: Sequence[Entry], next_cursor: str | None) -> CatalogueAnswer:
    """Show a page of registered keys."""
    return CatalogueAnswer(items=[entry_answer(entry) for entry in entries], next_cursor=next_cursor)


def settings_answer(closing: Closing) -> CatalogueSettingsAnswer:
    """Show whether the catalogue is closed."""
    return CatalogueSettingsAnswer(closed=closing.closed, version=closing.version)
