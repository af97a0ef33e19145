"""The command line of the product: `cairn --help` lists what it can do."""

import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import click

from app import up
from app.commands.token import make_token

DEFAULT_DATA = ".data"
DEFAULT_PORT = 8000
DEMO_TOKEN_S = 12 * 3600


# Where each command stands: it loads what it needs itself, which is two seconds less than what all of them need.
COMMANDS = {
    "serve": "app.commands.processes:serve",
    "worker": "app.commands.processes:worker",
    "migrate": "app.commands.processes:migrate",
    "token": "app.commands.token:token",
    "demo": "app.commands.demo:demo",
    "openapi": "app.commands.documents:openapi",
    "problems": "app.commands.documents:problems",
    "settings": "app.commands.documents:settings_table",
    "export-format": "app.commands.documents:export_format",
    "jobs": "app.commands.jobs:jobs",
    "index": "app.commands.index:index",
    "keys": "app.commands.keys:keys",
    "bench": "app.commands.bench:bench",
    "verify-certificate": "app.commands.keys:verify_certificate",
    "verify": "app.commands.verify:verify",
    "doctor": "app.commands.doctor:doctor",
}


class Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, those that aren't loaded yet too."""
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command of that name, if there is one."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return super().get_command(ctx, cmd_name)
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=Commands, context_settings={"max_content_width": 100})
def main() -> None:
    """Run Cairn, memory as a service for AI agents."""


@main.command("up")
@click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="The data folder (CAIRN_DATA_DIR, .data)."
)
@click.option("--port", type=click.IntRange(1, 65535), help="Where the API listens (CAIRN_PORT, 8000).")
def run_up(data: Path | None, port: int | None) -> None:
    """Start everything on this machine: the servers that aren't given by URL, the API and a worker. Ctrl-C stops it."""
    given = {name: value for name, value in os.environ.items() if name.startswith("CAIRN_")}
    ask = up.Ask(
        data=data or Path(given.get("CAIRN_DATA_DIR") or DEFAULT_DATA),
        port=port or int(given.get("CAIRN_PORT") or DEFAULT_PORT),
        given=given,
    )
    sys.exit(up.run(ask, click.echo, _greeting))


def _greeting(environment: Mapping[str, str]) -> str:
    base = f"http://{up.LOOPBACK}:{environment['CAIRN_PORT']}"
    secret = environment.get("CAIRN_AUTH_SECRET")
    if secret is None:
        return f"\nCairn answers on {base} and takes tokens of {environment['CAIRN_AUTH_ISSUER']}."
    shown = make_token(secret, "alice", "acme", None, None, DEMO_TOKEN_S)
    body = json.dumps({"query": "How should I answer?"})
    return (
        f"\nCairn answers on {base}. A token for the user alice, good for 12 hours:\n\n"
        f"export CAIRN_TOKEN={shown}\n\n"
        "Paste that, then:\n\n"
        f'curl -s {base}/v1/preferences/language -X PUT -H "Authorization: Bearer $CAIRN_TOKEN" \\\n'
        "  -H 'Content-Type: application/json' -H 'If-None-Match: *' -d '{\"value\": \"en-GB\"}'\n"
        f'curl -s {base}/v1/context -H "Authorization: Bearer $CAIRN_TOKEN" \\\n'
        f"  -H 'Content-Type: application/json' -d '{body}'\n\n"
        f"The API's description: {base}/openapi.json. A story that uses all of it: cairn demo"
    )


if __name__ == "__main__":
    main()
