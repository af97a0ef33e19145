"""Master keys wrap and unwrap, are rotated while serving, and never stand in an error."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.infra.crypto.master import MasterKeyError, MasterKeys

KEY_A, KEY_B = bytes(range(32)), bytes(range(224, 256))
TEXT_A, TEXT_B = (base64.b64encode(key).decode() for key in (KEY_A, KEY_B))


@given(st.binary(max_size=64), st.binary(max_size=64))
def test_a_wrapped_key_unwraps_in_its_context(key: bytes, context: bytes) -> None:
    masters = MasterKeys({"a": KEY_A})
    wrapped, master_id = masters.wrap(key, context)
    assert masters.unwrap(wrapped, master_id, context) == key
    with pytest.raises(MasterKeyError, match="'a'"):
        masters.unwrap(wrapped, master_id, context + b"x")


def test_the_first_key_wraps_and_the_others_still_unwrap() -> None:
    old, both = MasterKeys.parse(f"a:{TEXT_A}"), MasterKeys.parse(f" b:{TEXT_B}, a:{TEXT_A} ")
    wrapped, master_id = old.wrap(b"key", b"data:1")
    assert both.unwrap(wrapped, master_id, b"data:1") == b"key"
    again, new_id = both.rewrap(wrapped, master_id, b"data:1")
    assert (master_id, new_id) == ("a", "b")
    assert MasterKeys({"b": KEY_B}).unwrap(again, new_id, b"data:1") == b"key"
    assert both.rewrap(again, new_id, b"data:1") == (again, "b")


def test_a_missing_master_key_is_named() -> None:
    wrapped, master_id = MasterKeys({"a": KEY_A}).wrap(b"key", b"")
    with pytest.raises(MasterKeyError, match="'a' is missing: known are b, c"):
        MasterKeys({"b": KEY_B, "c": KEY_A}).unwrap(wrapped, master_id, b"")


def test_another_key_under_the_same_id_is_refused() -> None:
    wrapped, master_id = MasterKeys({"a": KEY_A}).wrap(b"key", b"")
    with pytest.raises(MasterKeyError, match="'a' isn't the one"):
        MasterKeys({"a": KEY_B}).unwrap(wrapped, master_id, b"")


@given(st.integers(0, 200), st.integers(1, 255))
def test_an_altered_or_cut_wrapped_key_is_refused(at: int, flip: int) -> None:
    masters = MasterKeys({"a": KEY_A})
    wrapped, master_id = masters.wrap(b"key", b"")
    altered = bytearray(wrapped)
    altered[at % len(wrapped)] ^= flip
    for wrong in (bytes(altered), wrapped[: at % len(wrapped)]):
        with pytest.raises(MasterKeyError):
            masters.unwrap(wrong, master_id, b"")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "master key 1 isn't of the form"),
        (TEXT_A, "master key 1 isn't of the form"),
        (f"a:{TEXT_A},b", "master key 2 isn't of the form"),
        (f"a b:{TEXT_A}", "master key 1 isn't of the form"),
        (f"a:{TEXT_A},a:{TEXT_B}", "'a' is given twice"),
        ("a:not*base64", "'a' isn't valid base64"),
        (f"a:{base64.b64encode(KEY_A[:16]).decode()}", "'a' is of 16 bytes, not 32"),
    ],
)
def test_malformed_keys_are_refused_by_id_and_not_by_content(text: str, message: str) -> None:
    with pytest.raises(MasterKeyError, match=message) as refused:
        MasterKeys.parse(text)
    assert not any(secret in str(refused.value) for secret in (TEXT_A, TEXT_B, "not*base64"))


def test_base64_of_the_url_alphabet_and_without_padding_is_read() -> None:
    key = bytes([255] * 32)
    text = base64.urlsafe_b64encode(key).decode().rstrip("=")
    wrapped, master_id = MasterKeys({"a": key}).wrap(b"key", b"")
    assert MasterKeys.parse(f"a:{text}").unwrap(wrapped, master_id, b"") == b"key"


def test_a_generated_key_is_read_and_two_differ() -> None:
    one, other = MasterKeys.generate("k1"), MasterKeys.generate("k1")
    assert MasterKeys.parse(one).ids == ("k1",)
    assert one != other


def test_no_key_shows_when_master_keys_are_printed() -> None:
    assert str(MasterKeys({"a": KEY_A, "b": KEY_B})) == "MasterKeys(a, b)"
