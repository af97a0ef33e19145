"""Signatures hold for the document that was signed, however it is written, and for no other."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.infra.crypto.signing import Signer, canonical_json, verify

EXACT = st.integers(-(2**53) + 1, 2**53 - 1)
TEXT = st.text(max_size=8)
LEAVES = st.none() | st.booleans() | EXACT | TEXT
JSON = st.recursive(LEAVES, lambda x: st.lists(x, max_size=3) | st.dictionaries(TEXT, x, max_size=3), max_leaves=6)
DOCUMENTS = st.dictionaries(TEXT, JSON, max_size=3)


def test_the_key_of_rfc_8037_is_told_as_its_jwk() -> None:
    # RFC 8037, appendix A.1 to A.3.
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    jwk = Signer.from_seed(seed).public_jwk()
    assert jwk["x"] == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    assert jwk["kid"] == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert (jwk["kty"], jwk["crv"], jwk["alg"]) == ("OKP", "Ed25519", "EdDSA")


def test_canonical_json_is_known() -> None:
    # The order of RFC 8785, section 3.2.3: by UTF-16 code units, so the emoji (a surrogate pair) precedes U+FB33.
    names = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    assert [name for name, _ in json.loads(canonical_json(names), object_pairs_hook=list)] == [
        "\r",
        "1",
        "\u0080",
        "\u00f6",
        "\u20ac",
        "\U0001f600",
        "\ufb33",
    ]
    assert (
        canonical_json({"b": [1, True, None], "a": '"\n\u007f/é'})
        == '{"a":"\\"\\n\u007f/é","b":[1,true,null]}'.encode()
    )


@given(DOCUMENTS)
def test_a_document_verifies_after_it_was_written_and_read(document: dict[str, Any]) -> None:
    signer = Signer.from_seed(bytes(32))
    signature = signer.sign(document)
    read = json.loads(json.dumps(dict(reversed(document.items())), indent=2))
    assert verify(read, signature, signer.public_jwk())


@given(DOCUMENTS, DOCUMENTS)
def test_another_document_does_not_verify(document: dict[str, Any], other: dict[str, Any]) -> None:
    signer = Signer.from_seed(bytes(32))
    same = canonical_json(document) == canonical_json(other)
    assert verify(other, signer.sign(document), signer.public_jwk()) == same


def test_another_key_or_a_malformed_signature_does_not_verify() -> None:
    signer, stranger = Signer.from_seed(bytes(32)), Signer.from_seed(bytes([1] * 32))
    document = {"erased": True}
    signature = signer.sign(document)
    assert not verify(document, signature, stranger.public_jwk())
    for wrong in ("", "?", signature[:-2], signature + "AA"):
        assert not verify(document, wrong, signer.public_jwk())
    assert not verify(document, signature, {**signer.public_jwk(), "crv": "X25519"})
    assert not verify(document, signature, {"kty": "OKP", "crv": "Ed25519"})


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [1.5, 2**53, "\ud800", {1: 2}, {"\ud800": 1}, b"x", {"a": {1, 2}}, nested(100)])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        canonical_json(value)
