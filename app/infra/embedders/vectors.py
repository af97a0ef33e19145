"""Rows of a model's output, checked and brought to unit length."""

import numpy as np
from numpy.typing import ArrayLike

from app.infra.embedders.port import EmbedderUnavailableError, Vectors


def unit_rows(output: ArrayLike, count: int, dimensions: int) -> Vectors:
    """Return `output` as `count` rows of unit length; raise EmbedderUnavailableError where it isn't that.

    A row of zeros, which no length can make a unit, becomes the first axis: it is then similar to hardly anything, and
    nothing downstream has to know of the case.
    """
    if not count:
        return np.empty((0, dimensions), np.float32)
    rows = np.ascontiguousarray(output, dtype=np.float32).reshape(count, -1)
    if rows.shape != (count, dimensions):
        raise EmbedderUnavailableError(f"the model gave rows of {rows.shape[1]} numbers, not of {dimensions}")
    if not np.isfinite(rows).all():
        raise EmbedderUnavailableError("the model gave numbers that are none")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    axis = np.zeros(dimensions, np.float32)
    axis[:1] = 1.0
    units: Vectors = np.where(lengths > 0, rows / np.maximum(lengths, np.finfo(np.float32).tiny), axis)
    return units
