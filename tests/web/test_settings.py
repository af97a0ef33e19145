"""Settings: what is missing or wrong is named, and no value is ever said."""

import pytest

from app.settings import MIN_SECRET_BYTES, NEEDED, Settings, SettingsError, settings_table_markdown, variable

SECRET = "quite-secret-" * 4
GOOD = {
    "CAIRN_AUTH_SECRET": SECRET,
    "CAIRN_MASTER_KEY": "k1:AAAA",
    "CAIRN_DATABASE_URL": "postgresql://cairn_app:password@127.0.0.1/cairn",
    "CAIRN_DATABASE_OWNER_URL": "postgresql://cairn_owner:password@127.0.0.1/cairn",
    "CAIRN_DATABASE_LOG_URL": "postgresql://cairn_log:password@127.0.0.1/cairn",
    "CAIRN_QUEUE_URL": "postgresql://cairn_queue:password@127.0.0.1/cairn",
    "CAIRN_KEYS_URL": "postgresql://cairn_keys:password@127.0.0.1/cairn_keys",
    "CAIRN_REDIS_URL": "rediss://:password@127.0.0.1",
    "CAIRN_CHROMA_URL": "http://127.0.0.1:8001",
}
JWKS = {
    "CAIRN_AUTH_SECRET": "",
    "CAIRN_AUTH_JWKS_URL": "https://issuer.example/keys.json",
    "CAIRN_AUTH_ISSUER": "https://issuer.example",
    "CAIRN_AUTH_AUDIENCE": "cairn",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)


def _complaint(process: str = "serve") -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load(process)
    said = str(caught.value)
    assert "password" not in said
    assert SECRET not in said
    return said


@pytest.mark.parametrize("process", NEEDED)
def test_good_settings_are_taken(process: str) -> None:
    settings = Settings.load(process)
    assert settings.auth_secret.get_secret_value() == SECRET
    assert (settings.port, settings.window, settings.session_ttl_s) == (8000, 20, 86_400)
    assert "password" not in repr(settings)
    assert SECRET not in repr(settings)


@pytest.mark.parametrize(("process", "name"), [(process, name) for process, names in NEEDED.items() for name in names])
def test_each_process_names_what_it_lacks(monkeypatch: pytest.MonkeyPatch, process: str, name: str) -> None:
    monkeypatch.setenv(variable(name), "")
    assert variable(name) in _complaint(process)


def test_everything_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in GOOD:
        monkeypatch.delenv(name)
    said = _complaint()
    assert all(variable(name) in said for name in NEEDED["serve"])
    assert "CAIRN_AUTH_SECRET or CAIRN_AUTH_JWKS_URL" in said


def test_a_worker_needs_no_way_to_verify_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAIRN_AUTH_SECRET")
    assert Settings.load("worker").auth_jwks_url == ""
    assert "CAIRN_AUTH_SECRET" in _complaint("serve")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"CAIRN_AUTH_SECRET": "s" * (MIN_SECRET_BYTES - 1)}, "CAIRN_AUTH_SECRET"),
        ({"CAIRN_AUTH_JWKS_URL": JWKS["CAIRN_AUTH_JWKS_URL"]}, "CAIRN_AUTH_JWKS_URL"),
        (JWKS | {"CAIRN_AUTH_ISSUER": ""}, "CAIRN_AUTH_ISSUER"),
        (JWKS | {"CAIRN_AUTH_AUDIENCE": ""}, "CAIRN_AUTH_AUDIENCE"),
        (JWKS | {"CAIRN_AUTH_JWKS_URL": "file:///etc/password"}, "CAIRN_AUTH_JWKS_URL"),
        ({"CAIRN_DEFAULT_SCOPES": "sessions admin:read"}, "CAIRN_DEFAULT_SCOPES"),
        ({"CAIRN_DEFAULT_SCOPES": "admin"}, "CAIRN_DEFAULT_SCOPES"),
        ({"CAIRN_DATABASE_URL": "mysql://password@x"}, "CAIRN_DATABASE_URL"),
        ({"CAIRN_REDIS_URL": "password@x"}, "CAIRN_REDIS_URL"),
        ({"CAIRN_PORT": "password"}, "CAIRN_PORT"),
        ({"CAIRN_PORT": "65536"}, "CAIRN_PORT"),
        ({"CAIRN_WINDOW": "0"}, "CAIRN_WINDOW"),
        ({"CAIRN_LOG_LEVEL": "password"}, "CAIRN_LOG_LEVEL"),
        ({"CAIRN_ALLOW_ANONYMOUS": "password"}, "CAIRN_ALLOW_ANONYMOUS"),
    ],
)
def test_what_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], named: str) -> None:
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    assert named in _complaint()


def test_published_keys_with_issuer_and_audience_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in JWKS.items():
        monkeypatch.setenv(name, value)
    assert Settings.load("serve").auth_jwks_url == JWKS["CAIRN_AUTH_JWKS_URL"]


def test_a_secret_is_counted_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_AUTH_SECRET", "é" * (MIN_SECRET_BYTES // 2))
    assert Settings.load("serve").auth_secret.get_secret_value().startswith("é")


def test_the_table_tells_every_setting_and_no_secret() -> None:
    table = settings_table_markdown()
    for name, field in Settings.model_fields.items():
        assert f"| `{variable(name)}` |" in table
        assert field.description
        assert field.description in table
    assert "password" not in table
