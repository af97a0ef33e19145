"""`cairn token`: a token for trying things, signed with the installation's own secret."""

import os
import time
from pathlib import Path

import click
from jose import jwt

MIN_LIFE_S = 60


def make_token(secret: str, sub: str, tenant: str, agent: str | None, scope: str | None, life_s: int) -> str:
    """Return a signed HS256 token for a user of a tenant."""
    now = int(time.time())
    claims = {
        "sub": sub,
        "tenant": tenant,
        "iat": now,
        "exp": now + life_s,
        "agent": agent,
        "scope": scope,
        "iss": os.environ.get("CAIRN_AUTH_ISSUER"),
        "aud": os.environ.get("CAIRN_AUTH_AUDIENCE"),
    }
    given = {name: value for name, value in claims.items() if value}
    return jwt.encode(given, secret, algorithm="HS256")


def find_secret() -> str:
    """Return the secret that this installation's tokens are signed with: the environment's, else the data folder's."""
    secret = os.environ.get("CAIRN_AUTH_SECRET")
    if secret:
        return secret
    path = Path(os.environ.get("CAIRN_DATA_DIR", ".data")) / "secrets" / "auth_secret"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise click.ClickException("set CAIRN_AUTH_SECRET, or run `cairn up` here once: it makes one") from None
    except PermissionError:
        raise click.ClickException(f"{path} belongs to another user: run this as whoever runs `cairn up`") from None


@click.command("token")
@click.option("--sub", required=True, help="The user.")
@click.option("--tenant", default="default", show_default=True, help="The organisation.")
@click.option("--agent", help="The agent that calls on the user's behalf.")
@click.option("--scope", help='What it may do, e.g. "sessions context:read"; none: CAIRN_DEFAULT_SCOPES.')
@click.option("--life-s", default=3600, show_default=True, type=click.IntRange(MIN_LIFE_S), help="How long it lives.")
def token(sub: str, tenant: str, agent: str | None, scope: str | None, life_s: int) -> None:
    """Print a token for a user."""
    click.echo(make_token(find_secret(), sub, tenant, agent, scope, life_s))
