"""Bytes in every encoding that real files come in become text; what is no text is told apart, by its content alone."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.infra.extraction.encodings import decode
from app.infra.extraction.model import MediaType, RefusedError
from app.infra.extraction.recognising import HEAD_BYTES, UnknownKindError, kind_of, recognise

ZH = "甲方应当在每月五日前向乙方支付租金。逾期支付的，每日按应付金额的千分之一支付违约金。"
ZH_HANT = "甲方應當在每月五日前向乙方支付租金。逾期支付的，每日按應付金額的千分之一支付違約金。"
EN = "The tenant shall pay the rent – on the fifth day – of “each” month. It’s due."
MIXED = "Contract 合同 No. 12: 租金 rent 5000 yuan, pay monthly."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, encoding) for text in (ZH, ZH_HANT, EN, MIXED) for encoding in ("utf-8", "utf-8-sig", "utf-16")),
        *((text, encoding) for text in (ZH, EN, MIXED) for encoding in ("utf-16-le", "utf-16-be")),
        *((ZH, "gb18030"), (ZH, "gbk"), (ZH[:8], "gb18030"), (MIXED, "gb18030"), (ZH_HANT, "gb18030")),
        *((ZH_HANT, "big5"), (ZH_HANT[:8], "big5"), (EN, "cp1252"), ("𠮷野家で" * 9, "utf-16"), (ZH, "utf-32")),
    ],
)
def test_a_text_is_read_whatever_encoding_it_is_in(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text
    assert decode((text + "\r\n").encode(encoding)).text == text + "\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16"])
def test_one_wrong_byte_costs_one_character_and_not_the_document(encoding: str) -> None:
    lines = [(ZH + "\n").encode(encoding) for _ in range(100)]
    wrong = b"".join(lines[:50]) + (b"\x00\xd8" if encoding == "utf-16" else b"\xff") + b"".join(lines[50:])
    text = decode(wrong).text
    assert text.count(ZH) >= 98
    assert 0 < text.count("\ufffd") < 5


@pytest.mark.parametrize(
    "data",
    [os.urandom(5_000), bytes(10_000), b"abc\x00def" * 100, bytes(range(256)) * 20, b"\x01\x02\x03\x04 words " * 50],
    ids=["random", "zeros", "text with NUL", "all bytes", "controls"],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedError):
        decode(data)
    with pytest.raises(UnknownKindError):
        recognise(data, whole=True)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office"),
        (b"{\\rtf1\\ansi hello}", "RTF"),
        (b"\x89PNG\r\n\x1a\n", "image"),
        (b"\x1f\x8b\x08\x00", "compressed"),
    ],
)
def test_a_known_kind_is_named_by_its_content(head: bytes, name: str) -> None:
    with pytest.raises(UnknownKindError, match=name):
        recognise(head, whole=False)


@given(st.text(min_size=1), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_utf_8_without_controls_is_always_read_exactly(text: str, encoding: str) -> None:
    data = text.encode(encoding, "ignore")
    readable = data.decode(encoding)
    if any(ord(character) < 32 or ord(character) == 127 for character in readable) or not data:
        return
    if encoding == "utf-8" and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    if encoding == "utf-8" and readable.startswith("\ufeff"):
        readable = readable[1:]
    assert decode(data).text == readable


@given(st.binary(max_size=2_000))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        text = decode(data).text
    except RefusedError as refused:
        text = refused.reason
    assert "\x00" not in text


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16"])
@pytest.mark.parametrize("cut", range(4))
def test_a_head_that_ends_inside_a_character_is_recognised(encoding: str, cut: int) -> None:
    head = (ZH * 2_000).encode(encoding)[: HEAD_BYTES - cut]
    assert recognise(head, whole=False) is MediaType.TEXT


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Lease\n\nThe rent.", MediaType.MARKDOWN),
        ("Lease\n=====\n\nThe rent.", MediaType.MARKDOWN),
        ("```\ncode\n```", MediaType.MARKDOWN),
        ("| a | b |\n|---|---|\n| 1 | 2 |", MediaType.MARKDOWN),
        ("See [the annex](https://example.com/annex).", MediaType.MARKDOWN),
        ("The rent is due.\nIt is 500.", MediaType.TEXT),
        ("- a list\n- is not enough\n1. nor this", MediaType.TEXT),
        ("#hashtag and #another", MediaType.TEXT),
        ("a - b\n--\nc", MediaType.TEXT),
    ],
)
def test_markdown_is_told_from_plain_text(text: str, kind: MediaType) -> None:
    assert kind_of(text) is kind


@pytest.mark.parametrize("unit", ["[", " ", "-", "| ", "a\t", "\n", "`", "=\n"])
def test_telling_them_apart_takes_linear_time(unit: str) -> None:
    started = time.perf_counter()
    kind_of(unit * HEAD_BYTES)
    assert time.perf_counter() - started < 1
