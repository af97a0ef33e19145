"""What a question is searched by besides its terms, as keyed ids."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.text.characters import characters
from app.infra.crypto.box import Box


async def character_ids(box: Box, question: str) -> Sequence[NDArray[np.uint64]]:
    """Return for each character of a question of single ones the ids of the terms that may hold it.

    In a thread: these are thousands, and take some milliseconds.
    """
    return [await asyncio.to_thread(box.term_ids, held) for held in characters(question)]
