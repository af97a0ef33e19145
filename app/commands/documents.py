"""`cairn openapi` and `cairn problems`: the files that are generated, and compared by the checks."""

import json
import sys
from pathlib import Path

import click

from app.main import openapi_document
from app.web.problems import problem_list_markdown

OPENAPI_FILE = Path("openapi/openapi.json")
PROBLEMS_FILE = Path("docs/problems.md")


@click.command("openapi")
@click.option("--check", is_flag=True, help="Compare with the file in the repository instead of printing.")
@click.option("--write", is_flag=True, help="Write the file in the repository.")
def openapi(check: bool, write: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Print the OpenAPI description."""
    document = json.dumps(openapi_document(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    _give(OPENAPI_FILE, document, check=check, write=write)


@click.command("problems")
@click.option("--check", is_flag=True, help="Compare with the file in the repository instead of printing.")
@click.option("--write", is_flag=True, help="Write the file in the repository.")
def problems(check: bool, write: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Print the list of problems."""
    _give(PROBLEMS_FILE, problem_list_markdown(), check=check, write=write)


def _give(path: Path, text: str, *, check: bool, write: bool) -> None:
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    elif check:
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            click.echo(f"{path} isn't what the code makes: run the same command with --write", err=True)
            sys.exit(1)
    else:
        click.echo(text, nl=False)
