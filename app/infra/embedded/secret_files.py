"""Secrets made once and kept: a folder of mode 0700, a file of mode 0600 for each."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

SECRET_BYTES = 32


def random_secret() -> str:
    """256 bits that may stand in a URL, a configuration file and a SQL literal as they are."""
    return secrets.token_urlsafe(SECRET_BYTES)


class SecretFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, name: str, make: Callable[[], str] = random_secret) -> str:
        """The secret of that name; made, and flushed to the disk before it is returned, where there is none."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / name
        if not path.exists():
            write_private(path, make())
        return path.read_text(encoding="utf-8")


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600, whole or not at all, and flush it: what it opens may outlive a power cut."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
