"""`cairn demo`: the product told by using it, against the service that runs here or anywhere."""

import asyncio
import functools
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click
import httpx

from app.commands.environment import adopt_running
from app.commands.token import find_secret, make_token
from app.demo import play, real
from app.demo.visitor import TIMEOUT_S, Service, UnexpectedError
from app.up import LOOPBACK

TENANT = "demo"
AGENT = "demo-agent"
TOKEN_LIFE_S = 3600
DEFAULT_PORT = "8000"
# No more than the story needs, and named: an installation may give none by default.
SCOPES = "sessions memories profile preferences preferences:explicit knowledge context forget"


@click.command("demo")
@click.option("--base", help="Where the API is: http://127.0.0.1:8000, or where `cairn up` of this folder listens.")
@click.option(
    "--conversation",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A conversation of your own: one JSON object a line with session_id, speaker and text.",
)
@click.option(
    "--documents",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of your own documents (.md, .txt, .html, .csv, .pdf, .docx).",
)
@click.option("--ask", multiple=True, help="A question to what you gave; may be repeated.")
def demo(base: str | None, conversation: Path | None, documents: Path | None, ask: Sequence[str]) -> None:
    """Play a story against the running service, then forget it. Exits with 1 where an outcome isn't the right one."""
    adopt_running()
    url = base or f"http://{LOOPBACK}:{os.environ.get('CAIRN_PORT') or DEFAULT_PORT}"
    try:
        talks = real.read_talks(conversation) if conversation else []
        paths = real.read_folder(documents) if documents else []
    except (real.UnreadableError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from None
    telling = functools.partial(real.play, talks=talks, documents=paths, asked=ask) if talks or paths else play.play
    try:
        asyncio.run(_told(url, find_secret(), telling))
    except UnexpectedError as error:
        click.echo(f"\nNot as expected: {error}", err=True)
        sys.exit(1)
    except httpx.HTTPError as error:
        raise click.ClickException(f"{url} doesn't answer ({type(error).__name__}): is `cairn up` running?") from None


async def _told(url: str, secret: str, telling: Callable[[Service], Awaitable[None]]) -> None:
    def token(sub: str) -> str:
        return make_token(secret, sub, TENANT, AGENT, SCOPES, TOKEN_LIFE_S)

    async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S, trust_env=False) as client:
        await telling(Service(client, token, click.echo))
    click.echo("\nAll of it happened as it should.")
