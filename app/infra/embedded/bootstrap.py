"""Roles, passwords and databases: what a superuser does once, so that nobody needs one afterwards."""

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from urllib.parse import urlsplit, urlunsplit

import asyncpg

SCRAM_ITERATIONS = 4096  # what PostgreSQL itself uses
SCRAM_SALT_BYTES = 16
CONNECT_WITHIN_S = 10
STATEMENT_WITHIN_S = 60
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


async def prepare(admin_url: str, passwords: Mapping[str, str]) -> None:
    """Run roles.sql and give each role its password, where it has none. Does nothing the second time."""
    await run_script(admin_url, files(__package__).joinpath("roles.sql").read_text(encoding="utf-8"))
    admin = await connect(admin_url)
    try:
        bare = await admin.fetch(
            "SELECT rolname FROM pg_authid WHERE rolname = ANY ($1) AND rolpassword IS NULL", list(passwords)
        )
        for (role,) in bare:
            # a verifier, not the password: whatever keeps statements (an extension, a trace) never had it
            await admin.execute(f"ALTER ROLE {_name(role)} PASSWORD '{_scram_verifier(passwords[role])}'")
    finally:
        await admin.close(timeout=CONNECT_WITHIN_S)


async def run_script(admin_url: str, script: str) -> None:
    """Run a file written for psql, of whose commands it knows gexec and connect."""
    connection = await connect(admin_url)
    try:
        for paragraph in _paragraphs(script):
            if paragraph.startswith("\\connect "):
                await connection.close(timeout=CONNECT_WITHIN_S)
                connection = await connect(on_database(admin_url, paragraph.removeprefix("\\connect ").strip()))
            elif paragraph.endswith("\\gexec"):
                for (statement,) in await connection.fetch(paragraph.removesuffix("\\gexec")):
                    await connection.execute(statement)
            else:
                await connection.execute(paragraph)
    finally:
        await connection.close(timeout=CONNECT_WITHIN_S)


async def create_database_from_template(admin_url: str, template: str, name: str) -> None:
    """Copy a database with its owner and who may connect. Nobody may be connected to the template meanwhile."""
    admin = await connect(admin_url)
    try:
        owner = await admin.fetchval("SELECT datdba::regrole::text FROM pg_database WHERE datname = $1", template)
        allowed = await admin.fetch(
            "SELECT DISTINCT grantee::regrole::text FROM pg_database, aclexplode(datacl) "
            "WHERE datname = $1 AND privilege_type = 'CONNECT' AND grantee <> 0 AND grantee <> datdba",
            template,
        )
        copy = f"TEMPLATE {_name(template)} OWNER {owner} STRATEGY file_copy"  # 0.02 s; by way of the WAL it takes 0.2
        await admin.execute(f"CREATE DATABASE {_name(name)} {copy}")
        await admin.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
        for (role,) in allowed:  # PostgreSQL copies what a database holds, not who may enter it
            await admin.execute(f"GRANT CONNECT ON DATABASE {name} TO {role}")
    finally:
        await admin.close(timeout=CONNECT_WITHIN_S)


async def drop_database(admin_url: str, name: str) -> None:
    """Drop it, whoever is still connected."""
    admin = await connect(admin_url)
    try:
        await admin.execute(f"DROP DATABASE IF EXISTS {_name(name)} WITH (FORCE)")
    finally:
        await admin.close(timeout=CONNECT_WITHIN_S)


async def connect(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    return await asyncpg.connect(url, ssl=False, timeout=CONNECT_WITHIN_S, command_timeout=STATEMENT_WITHIN_S)


def on_database(url: str, name: str) -> str:
    """The same server and role, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _paragraphs(script: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", script):
        lines = [line for line in paragraph.splitlines() if not line.startswith("--")]
        if text := "\n".join(lines).strip():
            yield text


def _name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(f"not a plain name: {name!r}")
    return name


def _scram_verifier(password: str) -> str:
    """What PostgreSQL stores for SCRAM-SHA-256 (RFC 5802, RFC 7677); for passwords of plain ASCII."""
    salt = os.urandom(SCRAM_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, SCRAM_ITERATIONS)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    parts = [base64.b64encode(part).decode() for part in (salt, stored_key, server_key)]
    return f"SCRAM-SHA-256${SCRAM_ITERATIONS}:{parts[0]}${parts[1]}:{parts[2]}"
