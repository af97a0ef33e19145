"""The command line of the product: `cairn --help` lists what it can do."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from app import up
from app.commands.bench import bench
from app.commands.demo import demo
from app.commands.doctor import doctor
from app.commands.documents import export_format, openapi, problems, settings_table
from app.commands.index import index
from app.commands.jobs import jobs
from app.commands.keys import keys, verify_certificate
from app.commands.processes import migrate, serve, worker
from app.commands.token import make_token, token
from app.commands.verify import verify

DEFAULT_DATA = ".data"
DEFAULT_PORT = 8000
DEMO_TOKEN_S = 12 * 3600


@click.group(context_settings={"max_content_width": 100})
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


for command in (
    serve,
    worker,
    migrate,
    token,
    demo,
    openapi,
    problems,
    settings_table,
    export_format,
    jobs,
    index,
    keys,
    bench,
    verify_certificate,
    verify,
    doctor,
):
    main.add_command(command)

if __name__ == "__main__":
    main()
