"""What a command runs with: the environment, else what the `cairn up` of this folder runs with."""

import json
import os
from pathlib import Path

import click

from app.settings import Settings, SettingsError
from app.up import RUNNING_FILE


def adopt_running() -> None:
    """Take over what the `cairn up` of this folder runs with, unless the environment names a deployment of its own."""
    if os.environ.get("CAIRN_DATABASE_URL"):
        return
    noted = Path(os.environ.get("CAIRN_DATA_DIR", ".data")) / RUNNING_FILE
    if noted.is_file():
        for name, value in json.loads(noted.read_text(encoding="utf-8")).items():
            os.environ.setdefault(name, value)


def load_settings(process: str) -> Settings:
    """Return settings that a process of settings.NEEDED can start with. Raises a ClickException for what is missing."""
    adopt_running()
    try:
        return Settings.load(process)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
