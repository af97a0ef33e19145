"""A box opens what it sealed, where it was sealed, for whom it was sealed, and nothing else."""

import hashlib
import hmac
from uuid import UUID

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from app.infra.crypto.anonymous import anonymous_box
from app.infra.crypto.box import OVERHEAD_BYTES, Box, Place, SealError

USR = UUID(int=7)
ROW = UUID(int=42)
PLACE = Place("messages", "body", ROW)
KEY_1, KEY_2, SECRET = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def box(usr: UUID = USR, versions: tuple[int, ...] = (1, 2), secret: bytes = SECRET) -> Box:
    return Box(usr, {v: KEY_1 if v == 1 else KEY_2 for v in versions}, max(versions), secret)


@given(st.binary(max_size=300))
def test_what_was_sealed_opens_in_its_place(data: bytes) -> None:
    blob = box().seal(data, PLACE)
    assert len(blob) == len(data) + OVERHEAD_BYTES
    assert box().open(blob, PLACE) == data
    assert box().is_current(blob)


@given(
    place=st.builds(
        Place,
        table=st.sampled_from(["messages", "messagesbody", "m"]),
        column=st.sampled_from(["body", "", "essages"]),
        row=st.sampled_from([ROW, UUID(int=43)]),
    ),
    usr=st.sampled_from([USR, UUID(int=8)]),
)
def test_another_place_or_user_is_refused(place: Place, usr: UUID) -> None:
    blob = box().seal(b"secret", PLACE)
    if (place, usr) == (PLACE, USR):
        assert box(usr).open(blob, place) == b"secret"
        return
    with pytest.raises(SealError):
        box(usr).open(blob, place)


@given(st.integers(0, OVERHEAD_BYTES + 5), st.integers(1, 255))
def test_an_altered_byte_is_refused_wherever_it_stands(at: int, flip: int) -> None:
    blob = bytearray(box().seal(b"secret", PLACE))
    blob[at] ^= flip
    with pytest.raises(SealError):
        box().open(bytes(blob), PLACE)


@given(st.integers(0, OVERHEAD_BYTES + 5))
def test_a_truncated_blob_is_refused(size: int) -> None:
    with pytest.raises(SealError):
        box().open(box().seal(b"secret", PLACE)[:size], PLACE)


def test_an_unknown_version_is_named_and_an_older_one_opens() -> None:
    old, new = box(versions=(1,)), box(versions=(1, 2))
    assert new.open(old.seal(b"secret", PLACE), PLACE) == b"secret"
    assert not new.is_current(old.seal(b"secret", PLACE))
    with pytest.raises(SealError, match=r"messages\.body: sealed under key version 2"):
        old.open(new.seal(b"secret", PLACE), PLACE)


def test_a_version_number_over_another_key_is_refused() -> None:
    blob = box(versions=(1,)).seal(b"secret", PLACE)
    with pytest.raises(SealError, match="another user's key"):
        Box(USR, {1: KEY_2}, 1, SECRET).open(blob, PLACE)


def test_equal_data_never_seals_to_equal_bytes() -> None:
    blobs = {box().seal(b"secret", PLACE) for _ in range(100)}
    nonces = {blob[13:25] for blob in blobs}
    assert len(blobs) == len(nonces) == 100


def test_the_layout_of_a_blob_is_the_documented_one() -> None:
    blob = box(versions=(2,)).seal(b"secret", PLACE)
    header, nonce, sealed = blob[:13], blob[13:25], blob[25:]
    assert (header[0], header[9:]) == (1, (2).to_bytes(4))
    parts = (b"cairn-seal", header, USR.bytes, b"messages", b"body", ROW.bytes)
    associated = b"".join(len(part).to_bytes(4) + part for part in parts)
    assert AESGCM(KEY_2).decrypt(nonce, sealed, associated) == b"secret"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | ANY_TEXT, lambda x: st.lists(x) | st.dictionaries(ANY_TEXT, x)
    )
)
def test_json_opens_as_it_was_sealed(value: object) -> None:
    assert box().open_json(box().seal_json(value, PLACE), PLACE) == value


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        box().seal_json(float("nan"), PLACE)


@given(ANY_TEXT, ANY_TEXT)
def test_tags_are_equal_for_equal_texts_only(one: str, other: str) -> None:
    assert (box().tag("key", one) == box().tag("key", other)) == (one == other)


def test_tags_tell_purposes_users_and_terms_apart() -> None:
    tags = {
        box().tag("key", "tone"),
        box().tag("content", "tone"),
        box(UUID(int=8)).tag("key", "tone"),
        box(secret=KEY_1).tag("key", "tone"),
    }
    assert len(tags) == 4
    assert all(len(tag) == 16 for tag in tags)
    assert box().derive("tag:key") != box().derive("terms")


def test_tags_terms_and_derived_keys_survive_a_rotation_of_the_data_key() -> None:
    old, new = box(versions=(1,)), box(versions=(1, 2))
    assert old.tag("key", "tone") == new.tag("key", "tone")
    assert old.derive("rotation") == new.derive("rotation")
    assert old.term("tone") == new.term("tone")


def test_derived_keys_are_hkdf_of_the_index_secret() -> None:
    # RFC 5869 by hand: one block of HMAC-SHA256.
    prk = hmac.digest(USR.bytes, SECRET, "sha256")
    expected = hmac.digest(prk, b"cairn/1/rotation\x01", "sha256")
    assert box().derive("rotation") == expected


@given(st.lists(ANY_TEXT))
def test_term_ids_are_keyed_blake2b_in_the_order_given(texts: list[str]) -> None:
    ids = box().term_ids(texts)
    key = box().derive("terms")
    expected = [
        int.from_bytes(hashlib.blake2b(t.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest(), "little")
        for t in texts
    ]
    assert ids.dtype == np.uint64
    assert ids.tolist() == expected == [box().term(t) for t in texts]


def test_terms_of_two_users_are_not_linked() -> None:
    words = ["coffee", "咖啡", "berlin"]
    assert not set(box().term_ids(words).tolist()) & set(box(UUID(int=8)).term_ids(words).tolist())


def test_keys_of_the_wrong_size_or_without_a_current_one_are_refused() -> None:
    with pytest.raises(ValueError, match="current key version 2"):
        Box(USR, {1: KEY_1}, 2, SECRET)
    with pytest.raises(ValueError, match="32 bytes"):
        Box(USR, {1: KEY_1[:16]}, 1, SECRET)
    with pytest.raises(ValueError, match="key versions"):
        Box(USR, {0: KEY_1}, 0, SECRET)


def test_no_key_shows_when_a_box_is_printed() -> None:
    assert str(box()) == f"Box({USR}, current=2)"


def test_an_anonymous_box_opens_with_the_token_alone() -> None:
    token, other = "t" * 43, "u" * 43
    blob = anonymous_box(token, ROW).seal(b"secret", PLACE)
    assert anonymous_box(token, ROW).open(blob, PLACE) == b"secret"
    for wrong in (anonymous_box(other, ROW), anonymous_box(token, USR)):
        with pytest.raises(SealError):
            wrong.open(blob, PLACE)


def test_a_short_token_is_no_key() -> None:
    with pytest.raises(ValueError, match="at least 43"):
        anonymous_box("short", ROW)
