"""Numbers are found by form and check digit, next to Chinese text too; what only looks like one stays."""

import json
import time
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.secrets import Kind, find, is_bank_card, is_identity_card
from app.core.withholding import holds_secret, withheld, withheld_text

IDENTITY = "[identity number withheld]"
CARD = "[bank card number withheld]"
PASSPORT = "[passport number withheld]"
# Twice a second's work on an idle machine; what is quadratic takes hours.
LINEAR_WITHIN_S = 60.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我的身份证是110101199003070011谢谢", "我的身份证是[身份证号码已隐去]谢谢"),
        ("my id is 11010519491231002x, ok", f"my id is {IDENTITY}, ok"),
        ("ID11010519491231002X", f"ID{IDENTITY}"),
        ("身份证：１１０１０５１９４９１２３１００２Ｘ。", "身份证：[身份证号码已隐去]。"),
        ("in 2024 110105 19491231 002X", f"in 2024 {IDENTITY}"),
        ("110101-19900307-001-1", IDENTITY),
        ("110101199003070011，11010519491231002X", "[identity number withheld]，[identity number withheld]"),
    ],
)
def test_identity_cards(text: str, expected: str) -> None:
    assert withheld_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pay with 4111 1111 1111 1111 please", f"pay with {CARD} please"),
        ("我卡号4111-1111-1111-1111。", "我卡号[银行卡号已隐去]。"),
        ("卡号是6222021234567890128吗", "卡号是[银行卡号已隐去]吗"),
        ("card4111111111111111", f"card{CARD}"),
        ("378282 246310 005", CARD),
        ("3782 822463 10005", CARD),
        ("４１１１　１１１１　１１１１　１１１１", CARD),
        ("4111\u200b1111\u200b1111\u200b1111", CARD),
        ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", CARD),
        ("1,4111111111111111,5500000000000004", f"1,{CARD},{CARD}"),
        ("2024 4111 1111 1111 1111 5500 0000 0000 0004", f"2024 {CARD} {CARD}"),
        ("4111 - 1111 - 1111 - 1111", CARD),
    ],
)
def test_bank_cards(text: str, expected: str) -> None:
    assert withheld_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E12345678", PASSPORT),
        ("EA1234567 and G12345678", f"{PASSPORT} and {PASSPORT}"),
        ("我的护照E12345678过期了", "我的护照[护照号码已隐去]过期了"),
        ("DE1234567, P1234567", f"{PASSPORT}, {PASSPORT}"),
        ("护照号码：123456789", "护照号码：[护照号码已隐去]"),
        ("My passport number is C01X00T47.", f"My passport number is {PASSPORT}."),
        ("123456789 is my passport", f"{PASSPORT} is my passport"),
    ],
)
def test_passports(text: str, expected: str) -> None:
    assert withheld_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "110101199003070012",  # the check digit is another
        "110101199013070016",  # there is no such month
        "1101011990030700111",  # longer
        "411111111111111111111111",
        "order 4111111111111112",
        "SF4111111111111111",
        "similarity 0.4111111111111111",
        "12345678-1234-4111-1111-111111111111",
        "0b7e4111-1111-4111-8111-111111111111",
        "msg_01904111111111111111abcdef123456",
        "13800138000 13900139000",
        "+86 138 0013 8000",
        "20240115123045678",
        "1733000000000 1733000000000000",
        "2026-12-01T00:22:06.123456Z",
        "my passport expires 20251231",
        "护照办理电话 13800138000",
        "the order E1234567 and e12345678",
        "3.1415926535897932384626",
        "[身份证号码已隐去] [bank card number withheld]",
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert withheld_text(text) == text
    assert not holds_secret(text)


def test_numbers_are_found_where_json_has_them() -> None:
    given_ = {
        "pay": [4111111111111111, {"4111111111111111": "a", "5500000000000004": "b"}],
        "float": 4111111111111111.0,
        "arguments": '{"card": 4111111111111111, "of": "4111111111111111"}',
        "count": 12,
        "on": True,
    }
    masked: dict[str, Any] = dict(withheld(given_))  # Any: JSON of any shape
    assert masked["pay"] == [CARD, {CARD: "a", f"{CARD} 2": "b"}]
    assert masked["float"] == CARD
    assert json.loads(masked["arguments"]) == {"card": CARD, "of": CARD}
    assert (masked["count"], masked["on"]) == (12, True)
    assert withheld(masked) == masked


def test_what_holds_none_is_the_same_object() -> None:
    body = {"messages": [{"content": "四点见", "metadata": {"order": 123}}]}
    assert withheld(body) is body


CARDS = st.from_regex(r"(?:4[0-9]{14}|62[0-9]{13}|5[1-5][0-9]{13})", fullmatch=True).map(
    lambda payload: next(payload + str(check) for check in range(10) if is_bank_card(payload + str(check)))
)
BORN = st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31))
IDENTITIES = st.tuples(BORN, st.integers(0, 999)).map(
    lambda parts: next(
        number for check in "0123456789X" if is_identity_card(number := f"110101{parts[0]:%Y%m%d}{parts[1]:03}{check}")
    )
)
# Neither digits nor what a number may be a part of.
BESIDE = st.text(st.sampled_from("我的卡号是，。 \n:：(（谢谢é€"), max_size=8)


@given(BESIDE, st.one_of(CARDS, IDENTITIES), BESIDE)
def test_every_number_is_found_whatever_stands_beside_it(before: str, number: str, after: str) -> None:
    assert [(secret.start, secret.end) for secret in find(before + number + after)] == [
        (len(before), len(before) + len(number))
    ]


@given(CARDS, st.sampled_from([" ", "-", " - ", "\u3000", "－", "\u200b"]))
def test_grouped_by_four(number: str, between: str) -> None:
    grouped = between.join(number[start : start + 4] for start in range(0, 16, 4))
    assert [secret.kind for secret in find(grouped)] == [Kind.BANK_CARD]


@given(st.text(st.one_of(st.characters(), st.sampled_from("0123456789 -xX护照EG")), max_size=200))
def test_any_text_is_masked_once_and_for_all(text: str) -> None:
    masked = withheld_text(text)
    assert withheld_text(masked) == masked
    for secret in find(text):
        assert text[secret.start : secret.end] not in masked or text.count(text[secret.start : secret.end]) > 1


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "1 ",
        "4111 ",
        "110101 19900307 001 ",
        "我的身份证1",
        "passport ",
        "E1234567 ",
        "A1",
        "12345678-1234-1234-1234-",
    ],
)
def test_a_megabyte_takes_linear_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    withheld_text(text)
    assert time.process_time() - began < LINEAR_WITHIN_S
