"""What Chroma leaves on its disk: the folder of a collection stays when the collection is deleted.

It holds rotated vectors and keyed ids, no text; it goes all the same. Where the folder can't be reached from here, as
with a server elsewhere, `cairn index sweep` does it there.
"""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final
from uuid import UUID

from app.core.errors import AppError

DATABASE: Final = "chroma.sqlite3"
_WAIT_S: Final = 5.0


class ChromaFiles:
    """The folder of one server (Chroma 1.x), which may be running."""

    def __init__(self, folder: Path) -> None:
        """Take the folder that the server was started with."""
        self._folder = folder

    async def sweep(self) -> int:
        """Remove the folders of collections that are no more; return how many. Raises `store_unavailable`."""
        return await asyncio.to_thread(self._sweep)

    async def count(self) -> int:
        """Return how many folders of collections that are no more there are. Raises `store_unavailable`."""
        return len(await asyncio.to_thread(self._orphans))

    def _sweep(self) -> int:
        orphans = self._orphans()
        for folder in orphans:
            shutil.rmtree(folder, ignore_errors=True)
        return len(orphans)

    def _orphans(self) -> list[Path]:
        # The folders first: one that is made meanwhile is none of them, and its row is there before it.
        folders = [each for each in self._folder.glob("*-*-*-*-*") if each.is_dir() and _is_uuid(each.name)]
        try:
            address = f"file:{self._folder / DATABASE}?mode=ro"
            with closing(sqlite3.connect(address, uri=True, timeout=_WAIT_S)) as connection:
                known = {name for (name,) in connection.execute("SELECT id FROM segments")}
        except sqlite3.Error as error:
            raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error
        return [folder for folder in folders if folder.name not in known]


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
