"""Every command is where the list says, under its name, and loads what it needs alone."""

import subprocess
import sys

import click
import pytest

from app.cli import COMMANDS, main


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_found_by_its_name(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name


def test_a_small_command_loads_no_service() -> None:
    run = "import sys; from app.cli import main; main(['token', '--help'], standalone_mode=False)"
    looks = f"{run}; print('app.wiring' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", looks], check=True, capture_output=True, text=True)  # noqa: S603 - our own
    assert shown.stdout.splitlines()[-1] == "False"
