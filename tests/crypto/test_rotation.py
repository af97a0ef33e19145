"""A rotation keeps every angle and shows nothing else that two users' vectors could be linked by."""

import hashlib
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.infra.crypto.rotation import Rotation

SEED, OTHER = b"s" * 32, b"t" * 32


def vectors(count: int, dimensions: int, seed: int = 1) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(count, dimensions))
    lengths: NDArray[np.float64] = np.linalg.norm(drawn, axis=1, keepdims=True)
    return (drawn / lengths).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=16, max_size=40), st.integers(1, 1100), st.integers(0, 1000))
def test_inner_products_are_kept_in_any_dimension(seed: bytes, dimensions: int, draw: int) -> None:
    plain = vectors(8, dimensions, draw)
    turned = Rotation(seed, dimensions).turn(plain)
    assert turned.dtype == np.float32
    np.testing.assert_allclose(turned @ turned.T, plain @ plain.T, atol=1e-5)


@pytest.mark.parametrize(("dimensions", "padded"), [(512, 512), (1024, 1024), (384, 512), (768, 1024), (1, 1), (3, 4)])
def test_dimensions_are_padded_to_a_power_of_two(dimensions: int, padded: int) -> None:
    rotation = Rotation(SEED, dimensions)
    assert rotation.padded == padded
    assert rotation.turn(vectors(3, dimensions)).shape == (3, padded)
    assert rotation.turn(vectors(0, dimensions)).shape == (0, padded)


def test_a_rotation_is_the_same_on_every_machine() -> None:
    # Sixteen values divide by 4 in each of three rounds: multiples of 1/64, whatever order a machine sums them in.
    turned = Rotation(SEED, 16).turn(np.arange(1, 17, dtype=np.float32)[np.newaxis])
    known = "d0275185208db7eb6bdf55cfa0dd2e091c3d1ac4e83de02d999ead21750ed4a2"
    assert hashlib.sha256(np.round(turned * 64).astype("<i4").tobytes()).hexdigest() == known


def test_equal_texts_of_two_users_are_not_linked() -> None:
    plain = vectors(200, 512)
    mine, theirs = Rotation(SEED, 512).turn(plain), Rotation(OTHER, 512).turn(plain)
    # What broke a signed permutation: the sorted absolute values of a vector, which that one leaves as they are.
    for shape in (lambda x: x, np.abs, lambda x: np.sort(np.abs(x), axis=1), lambda x: np.sort(x, axis=1)):
        a, b = shape(mine), shape(theirs)
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
        found = np.argmax(a @ b.T, axis=1)
        assert (found == np.arange(200)).mean() < 0.05  # one in 200 is chance


def test_sparse_vectors_are_spread_over_all_dimensions() -> None:
    turned = Rotation(SEED, 512).turn(np.eye(512, dtype=np.float32)[:50])
    assert np.abs(turned).max() < 0.5
    assert (np.abs(turned) > 1e-4).mean() > 0.95


def test_another_seed_or_round_gives_another_rotation() -> None:
    plain = vectors(1, 512)
    cosine = float((Rotation(SEED, 512).turn(plain) @ Rotation(OTHER, 512).turn(plain).T)[0, 0])
    assert abs(cosine) < 0.25


def test_the_input_is_left_as_it_was() -> None:
    plain = vectors(5, 512)
    before = plain.copy()
    Rotation(SEED, 512).turn(plain)
    np.testing.assert_array_equal(plain, before)


def test_a_thousand_vectors_turn_in_well_under_50_ms() -> None:
    rotation, plain = Rotation(SEED, 512), vectors(1000, 512)
    waits = []
    for _ in range(5):
        start = time.perf_counter()
        rotation.turn(plain)
        waits.append(time.perf_counter() - start)
    assert min(waits) < 0.05


def test_wrong_shapes_and_short_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(n, 512\), not \(2, 384\)"):
        Rotation(SEED, 512).turn(vectors(2, 384))
    with pytest.raises(ValueError, match=r"not \(512,\)"):
        Rotation(SEED, 512).turn(vectors(1, 512)[0])
    with pytest.raises(ValueError, match="at least 16"):
        Rotation(b"short", 512)
    with pytest.raises(ValueError, match="from 1 to"):
        Rotation(SEED, 0)
