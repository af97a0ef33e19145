"""`cairn openapi`, `problems`, `settings`, `export-format`: what is generated into files, and compared by checks."""

import json
import sys
from pathlib import Path

import click

from app.knowledge.failures import failure_list_markdown
from app.main import openapi_document
from app.portability.format import export_format_markdown
from app.portability.omissions import LEFT_OUT
from app.portable import exported
from app.settings import settings_table_markdown
from app.web.problems import problem_list_markdown

OPENAPI_FILE = Path("openapi/openapi.json")
PROBLEMS_FILE = Path("docs/problems.md")
EXPORT_FORMAT_FILE = Path("docs/export-format.md")
README_FILE = Path("README.md")
TABLE_BEGINS = "<!-- settings: made by `cairn settings --write` -->\n"
TABLE_ENDS = "<!-- /settings -->\n"


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
    _give(PROBLEMS_FILE, problem_list_markdown() + failure_list_markdown(), check=check, write=write)


@click.command("export-format")
@click.option("--check", is_flag=True, help="Compare with the file in the repository instead of printing.")
@click.option("--write", is_flag=True, help="Write the file in the repository.")
def export_format(check: bool, write: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Print the description of the format of exports."""
    records = {path: model for kind in exported() for path, model in kind.records.items()}
    _give(EXPORT_FORMAT_FILE, export_format_markdown(records, LEFT_OUT), check=check, write=write)


@click.command("settings")
@click.option("--check", is_flag=True, help="Compare with the table in the README instead of printing.")
@click.option("--write", is_flag=True, help="Write the table into the README.")
def settings_table(check: bool, write: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Print the table of settings."""
    table = settings_table_markdown()
    if not check and not write:
        click.echo(table, nl=False)
        return
    before, _, rest = README_FILE.read_text(encoding="utf-8").partition(TABLE_BEGINS)
    _, ends, after = rest.partition(TABLE_ENDS)
    if not ends:
        raise click.ClickException(f"{README_FILE} has no place for the table of settings")
    _give(README_FILE, f"{before}{TABLE_BEGINS}{table}{TABLE_ENDS}{after}", check=check, write=write)


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
