"""`cairn index`: whether the vector store has what it should have, and building it anew. Counts, never content."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import click

from app.base import Base, open_base
from app.commands.environment import load_settings
from app.core.errors import AppError
from app.core.ids import parse, show
from app.core.scope import Actor, Scope, Subject
from app.infra.audit.writer import AuditWriter
from app.infra.chroma.files import DATABASE, ChromaFiles
from app.infra.chroma.index import ChromaIndex
from app.infra.db.transaction import Database
from app.infra.segments.renewing import progress
from app.infra.segments.store import SegmentStore
from app.knowledge.index_watch import GONE, index_owners
from app.knowledge.indexing import Check, VectorKeeper
from app.knowledge.orphans import Orphans
from app.knowledge.sharing import unshare
from app.settings import Settings

AWAY = "is Chroma up, and PostgreSQL? Searches are answered from PostgreSQL"
REQUEST = "cairn index"


@dataclass(frozen=True)
class Asked:
    """Whose index: everybody's, or one user's, by `sub` (of a tenant, as an issuer names them) or by reference."""

    user: str | None
    tenant: str
    issuer: str | None


@dataclass(frozen=True)
class Finding:
    """How a user's index is, in a word and a sentence."""

    word: str
    text: str


@dataclass(frozen=True)
class Parts:
    """What the commands work with."""

    keeper: VectorKeeper
    db: Database
    orphans: Orphans


Work = Callable[[Parts, Scope], Awaitable[Finding]]


def _about_whom(command: Callable[..., None]) -> Callable[..., None]:
    user = click.option("--user", metavar="SUB", help="One user alone: the `sub` of their tokens, or usr_...")
    tenant = click.option("--tenant", default="default", show_default=True, help="The tenant of that user.")
    issuer = click.option("--issuer", help="The issuer of their tokens (CAIRN_AUTH_ISSUER).")
    return user(tenant(issuer(command)))


@click.group("index")
def index() -> None:
    """Look at the vector store, and build it anew. While it is, searches are answered from PostgreSQL."""


@index.command("check")
@_about_whom
@click.option("--all", "everybody", is_flag=True, help="List those whose index is in order, too.")
def check_index(user: str | None, tenant: str, issuer: str | None, everybody: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Compare PostgreSQL and the vector store, user by user, and name collections that belong to nobody.

    The exit status is 1 where something is to be built, or dropped.
    """
    _run(Asked(user, tenant, issuer), _check, listed=everybody or user is not None)


@index.command("rebuild")
@_about_whom
def rebuild_index(user: str | None, tenant: str, issuer: str | None) -> None:
    """Build the vector store anew from PostgreSQL, for everybody or for one. The exit status is 1 where it failed."""
    _run(Asked(user, tenant, issuer), _rebuild, listed=True)


@index.command("prune")
def prune_orphans() -> None:
    """Drop the collections that belong to nobody in this database, which `check` names.

    Not where another installation uses the same Chroma: its users are unknown here.
    """
    asyncio.run(_pruned(load_settings("index")))


@index.command("unshare")
@_about_whom
def unshare_texts(user: str | None, tenant: str, issuer: str | None) -> None:
    """Give passages that say the same a text of their own each: the schema can then go back to before 0028_chunk_texts.

    End the workers first. It may be interrupted and run again.
    """
    _run(Asked(user, tenant, issuer), _unshare, listed=True)


@index.command("sweep")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def sweep_files(folder: Path) -> None:
    """Remove what Chroma leaves in its FOLDER when a collection is deleted. The server may run meanwhile."""
    try:
        click.echo(f"{asyncio.run(ChromaFiles(folder).sweep())} folder(s) of deleted collections removed")
    except AppError:
        raise click.ClickException(f"{folder} isn't Chroma's: there is no {DATABASE} that can be read") from None


def _run(asked: Asked, work: Work, *, listed: bool) -> None:
    settings = load_settings("index")
    words = asyncio.run(_through(settings, asked, work, listed=listed))
    sys.exit(1 if "FAIL" in words else 0)


async def _through(
    settings: Settings,
    asked: Asked,
    work: Work,
    *,
    listed: bool,
) -> list[str]:
    """Do the work for each user, say how it went, and return the words."""
    words: list[str] = []
    async with _opened(settings) as base:
        names = base.models.names
        segments = SegmentStore("chunk", base.cache, *names)
        keeper = VectorKeeper(base.db, segments, [ChromaIndex(base.chroma, name) for name in names])
        parts = Parts(keeper, base.db, Orphans(base.db, base.chroma))
        try:
            await base.chroma.ping()
            async for scope in _scopes(base, asked):
                try:
                    finding = await work(parts, scope)
                except AppError as error:
                    if error.code not in GONE:
                        raise
                    continue
                words.append(finding.word)
                if listed or finding.word != "ok":
                    click.echo(f"{finding.word:<4}  {show('usr', scope.usr)}: {finding.text}")
            orphans = await parts.orphans.find() if work is _check and asked.user is None else []
            for name in orphans:
                click.echo(f"FAIL  {name}: belongs to nobody here; `cairn index prune` drops it")
        except AppError as error:
            orphans = []
            words.append("FAIL")
            click.echo(f"FAIL  {error.code}: {AWAY}")
        click.echo(_summary(words, names[0]))
        for row in await progress(base.db, names):
            if row.made < row.items or len(names) > 1:
                click.echo(f"{row.kind}: {row.made} of {row.items} have vectors of {row.model}")
    return [*words, *("FAIL" for _ in orphans)]


def _summary(words: list[str], model: str) -> str:
    counted = ", ".join(f"{words.count(word)} {word}" for word in ("ok", "wait", "FAIL") if word in words)
    return f"{len(words)} user(s) with documents, vectors of {model}{': ' if counted else ''}{counted}"


async def _pruned(settings: Settings) -> None:
    async with _opened(settings) as base:
        orphans = Orphans(base.db, base.chroma)
        try:
            dropped = await orphans.drop(await orphans.find())
        except AppError as error:
            raise click.ClickException(f"{error.code}: {AWAY}") from None
    click.echo(f"{dropped} collection(s) that belonged to nobody dropped")


async def _check(parts: Parts, scope: Scope) -> Finding:
    return _told(await parts.keeper.check(scope), scope)


async def _rebuild(parts: Parts, scope: Scope) -> Finding:
    await parts.keeper.rebuild(scope)
    return _told(await parts.keeper.check(scope), scope)


async def _unshare(parts: Parts, scope: Scope) -> Finding:
    return Finding("ok", f"{await unshare(parts.db, scope)} passage(s) have texts of their own again")


def _told(check: Check, scope: Scope) -> Finding:
    counted = f"{check.actual} of {check.expected} vectors"
    if check.is_complete:
        return Finding("ok", counted)
    if not check.is_made:
        return Finding("wait", "another model makes its vectors anew; searches are answered from PostgreSQL")
    if check.owed:
        return Finding("wait", f"{counted}, {check.owed} change(s) are owed: a worker tells them")
    harm = counted if check.is_current else f"{counted}, made with settings of before"
    harm = harm if check.is_sound else "damaged"
    return Finding("FAIL", f"{harm}: run `cairn index rebuild --user {show('usr', scope.usr)}`")


async def _scopes(base: Base, asked: Asked) -> AsyncIterator[Scope]:
    def operators(tenant: str, usr: UUID) -> Scope:
        return Scope(tenant, usr, None, Actor.OPERATOR, REQUEST)

    if asked.user is None:
        async for tenant, usr in index_owners(base.db):
            yield operators(tenant, usr)
        return
    if asked.user.startswith("usr_"):
        wanted = _reference(asked.user)
        # Whoever has no documents is found to have no vectors.
        tenants = [tenant async for tenant, usr in index_owners(base.db) if usr == wanted]
        yield operators(tenants[0] if tenants else asked.tenant, wanted)
        return
    issuer = base.settings.auth_issuer if asked.issuer is None else asked.issuer
    known = await base.vault.reference(Subject(issuer, asked.tenant, asked.user))
    if known is None:
        raise click.ClickException(f"there is no user {asked.user} in the tenant {asked.tenant}")
    yield operators(asked.tenant, known)


def _reference(shown: str) -> UUID:
    try:
        return parse("usr", shown)
    except AppError:
        raise click.ClickException(f"{shown} is no reference of a user") from None


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Base]:
    async with AsyncExitStack() as stack:
        # Nothing is read that the audit would note; what is built notes itself, in its transaction.
        log = AuditWriter(settings.database_log_url.get_secret_value())
        yield await open_base(settings, log, stack)
