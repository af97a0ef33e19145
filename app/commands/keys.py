"""`cairn keys` and `cairn verify-certificate`: the master key, and the signatures of this installation."""

import asyncio
import json
import sys
from pathlib import Path

import click

from app.commands.environment import load_settings
from app.core.errors import AppError
from app.core.ids import parse
from app.infra.crypto.master import MasterKeyError, MasterKeys
from app.infra.crypto.signing import verify
from app.infra.keys.rotation import rewrap_all
from app.infra.keys.store import KeyStore, open_pool
from app.infra.keys.vault import CACHE_S, SETTLE_S, open_vault


@click.group("keys")
def keys() -> None:
    """Make and rotate master keys."""


@keys.command("new-master")
@click.argument("key_id")
def new_master(key_id: str) -> None:
    """Print a new master key. Put it first in CAIRN_MASTER_KEY, keep the old one behind it, restart, then rotate."""
    click.echo(MasterKeys.generate(key_id))


@keys.command("rotate-master")
def rotate_master() -> None:
    """Wrap every key under the first key of CAIRN_MASTER_KEY, while the service serves. May be run again."""
    settings = load_settings("keys")

    async def rotate() -> int:
        masters = MasterKeys.parse(settings.master_key.get_secret_value())
        store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 2))
        try:
            return await rewrap_all(store, masters)
        finally:
            await store.close()

    try:
        click.echo(f"{asyncio.run(rotate())} key(s) were wrapped anew; older master keys may be taken out now")
    except MasterKeyError as error:
        raise click.ClickException(str(error)) from None


@keys.command("rotate-user")
@click.argument("user_id")
def rotate_user(user_id: str) -> None:
    """Give a user (usr_...) a new data key. What was sealed under the older ones stays readable."""
    settings = load_settings("keys")

    async def rotate() -> int:
        store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 2))
        try:
            vault = await open_vault(store, MasterKeys.parse(settings.master_key.get_secret_value()))
            return await vault.rotate(parse("usr", user_id))
        finally:
            await store.close()

    try:
        click.echo(f"{user_id} seals under version {asyncio.run(rotate())} within {SETTLE_S + CACHE_S} seconds")
    except AppError:
        raise click.ClickException(f"there is no user {user_id}") from None


@click.command("verify-certificate")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--keys",
    "key_file",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What /.well-known/cairn-keys.json answered.",
)
def verify_certificate(certificate: Path, key_file: Path) -> None:
    """Check the signature of a certificate of erasure, offline."""
    try:
        signed = json.loads(certificate.read_text(encoding="utf-8"))
        signed = signed.get("certificate") or signed
        known = {key["kid"]: key for key in json.loads(key_file.read_text(encoding="utf-8"))["keys"]}
        document, signature = signed["document"], signed["signature"]
        good = signature["kid"] in known and verify(document, signature["value"], known[signature["kid"]])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise click.ClickException("the files aren't a certificate and a key set") from None
    if not good:
        click.echo("NOT VALID: the certificate was altered, or another installation signed it", err=True)
        sys.exit(1)
    left = sum(store["remaining"] for store in document["stores"])
    click.echo(f"valid: erasure {document['erasure_id']} finished {document['finished_at']}, {left} item(s) left")
