"""A rotation keyed by the user: vectors that leave the product are turned, and the angles between them stay.

Three rounds of keyed sign flips, a normalised Walsh-Hadamard transform and a keyed permutation. Each is orthogonal, so
inner products and lengths are kept; the vectors of the same text of two users have nothing in common that is seen
without the key. (A signed permutation alone keeps the multiset of absolute values: it was broken when tried.)
What it doesn't do: hide how near two vectors of one user are, or withstand as many known texts as there are dimensions.

The transform needs a power of two: 512 stays 512, 1024 stays 1024, 384 is padded with zeros to 512, 768 to 1024.
"""

import hashlib
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

MIN_SEED_BYTES: Final = 16
MAX_DIMENSIONS: Final = 65_536
_ROUNDS: Final = 3


class Rotation:
    """The rotation of one seed. Deterministic: it doesn't depend on the machine or the version of numpy."""

    def __init__(self, seed: bytes, dimensions: int) -> None:
        """Take a secret seed and the dimensions of what comes in; `padded` are the dimensions of what goes out."""
        if len(seed) < MIN_SEED_BYTES:
            raise ValueError(f"a seed has at least {MIN_SEED_BYTES} bytes")
        if not 0 < dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"dimensions are from 1 to {MAX_DIMENSIONS}")
        self.dimensions = dimensions
        self.padded = 1 << (dimensions - 1).bit_length()
        self._signs = [_signs(seed, number, self.padded) for number in range(_ROUNDS)]
        self._orders = [_order(seed, number, self.padded) for number in range(_ROUNDS)]
        # The transform of a * b values is H_a X H_b on them as a matrix: two small products instead of many passes.
        power = self.padded.bit_length() - 1
        self._left, self._right = _hadamard(power // 2), _hadamard(power - power // 2)

    def turn(self, vectors: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return vectors (n, dimensions) turned: (n, padded), float32. Inner products of unit vectors keep to 1e-5."""
        if vectors.ndim != 2 or vectors.shape[1] != self.dimensions:  # noqa: PLR2004 - a list of vectors has two
            raise ValueError(f"vectors are of shape (n, {self.dimensions}), not {vectors.shape}")
        turned: NDArray[np.float32] = np.zeros((len(vectors), self.padded), np.float32)
        turned[:, : self.dimensions] = vectors
        for signs, order in zip(self._signs, self._orders, strict=True):
            turned *= signs
            cells = turned.reshape(len(turned), len(self._left), len(self._right))
            mixed: NDArray[np.float32] = np.matmul(np.matmul(self._left, cells), self._right)
            turned = mixed.reshape(len(turned), self.padded)[:, order]
        return np.ascontiguousarray(turned, np.float32)


def _stream(seed: bytes, label: bytes, size: int) -> bytes:
    """Return keyed bytes: SHAKE-256 of the seed under a label, lengths first so that no two inputs meet."""
    return hashlib.shake_256(b"cairn-rotation" + len(label).to_bytes(4) + label + seed).digest(size)


def _signs(seed: bytes, number: int, size: int) -> NDArray[np.float32]:
    bits = np.unpackbits(np.frombuffer(_stream(seed, b"signs%d" % number, math.ceil(size / 8)), np.uint8))[:size]
    return bits.astype(np.float32) * np.float32(2) - np.float32(1)


def _order(seed: bytes, number: int, size: int) -> NDArray[np.intp]:
    return np.argsort(np.frombuffer(_stream(seed, b"order%d" % number, 8 * size), "<u8"), kind="stable")


def _hadamard(power: int) -> NDArray[np.float32]:
    """Return the Hadamard matrix of 2^power rows in Sylvester's order, scaled to be orthogonal."""
    matrix: NDArray[np.float32] = np.ones((1, 1), np.float32)
    for _ in range(power):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.asarray(matrix / math.sqrt(len(matrix)), np.float32)
