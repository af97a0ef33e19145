"""Registered expressions: what they find, in both languages, and that none of them can take long."""

import pytest

from app.core.errors import AppError
from app.core.withholding import holds_secret, merged, withheld, withheld_json, withheld_text, withhold_also
from app.verifications.patterns.expression import Expressions, compiled, require_examples
from app.verifications.patterns.model import Check, Registration

EMPLOYEE = r"EMP-?\d{6}"
LUHN, ORCID = "79927398713", "0000-0002-1825-0097"


def finder(expression: str = EMPLOYEE, check: Check = Check.NONE, name: str = "employee") -> Expressions:
    return Expressions([compiled(name, Registration(expression, check, ""))])


def found(text: str, expression: str = EMPLOYEE, check: Check = Check.NONE) -> list[str]:
    return [text[each.start : each.end] for each in finder(expression, check).find(text)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("my number is EMP-123456.", "EMP-123456"),
        ("我的工号是EMP-123456谢谢", "EMP-123456"),
        ("工号：ＥＭＰ－１２３４５６，谢谢", "ＥＭＰ－１２３４５６"),
        ("工号EMP١٢٣٤٥٦", "EMP١٢٣٤٥٦"),
        ("𝒳😀EMP123456", "EMP123456"),
    ],
)
def test_it_is_found_next_to_text_of_both_languages(text: str, number: str) -> None:
    assert found(text) == [number]


@pytest.mark.parametrize("text", ["EMP-1234567", "TEMP-123456", "1EMP-123456", "EMP-12345", "nothing", ""])
def test_a_part_of_something_longer_is_not_it(text: str) -> None:
    assert found(text) == []


def test_ids_and_times_are_not_looked_into() -> None:
    digits = r"\d{6,8}"
    assert found("ses_01234567890123456789012345678901 123456", digits) == ["123456"]
    assert found("0193f123-4567-7123-8123-123456123456", digits) == []
    assert found("2026-01-01T00:00:00.123456Z", digits) == []


def test_a_check_digit_decides() -> None:
    luhn, orcid = r"\d{11}", r"(?:\d{4}-){3}\d{3}[\dX]"
    assert found(f"no {LUHN} {LUHN[:-1]}4", luhn, Check.LUHN) == [LUHN]
    assert found("7992739871 7992-7398-713", r"\d{4}[ -]\d{4}[ -]\d{3}", Check.LUHN) == ["7992-7398-713"]
    # What fits and is wrong hides nothing that begins inside it.
    assert found("5555 7992 7398 713", r"\d{4} ?\d{4} ?\d{3,4}", Check.LUHN) == ["7992 7398 713"]
    assert found(f"编号{ORCID}和0000-0002-1825-0098", orcid, Check.ISO7064_MOD11_2) == [ORCID]
    assert found("0000-0002-1694-233X", orcid, Check.ISO7064_MOD11_2) == ["0000-0002-1694-233X"]
    assert found("11010519491231002X", r"\d{17}[\dX]", Check.ISO7064_MOD11_2) == ["11010519491231002X"]
    assert found("110105194912310021", r"\d{17}[\dX]", Check.ISO7064_MOD11_2) == []


@pytest.mark.parametrize(
    "expression",
    [
        r"\d+",
        r"\d*",
        r"\d{3,}",
        r"[\]]x*]",
        r"[]a]+",
        r"[[:digit:]]+",
        r"(\d{2,3})*",
        r"\d+?",
        r"\Qa\E",
        r"\C{6}",
        "(",
        r"(?=\d)",
        r"(\d)\1",
        r"\d{1001}",
        r"(\d{1,30}){1,30}",
        "\ud800",
        "x" * 301,
    ],
)
def test_what_could_take_long_is_refused(expression: str) -> None:
    with pytest.raises(AppError) as refused:
        compiled("x", Registration(expression, Check.NONE, ""))
    assert refused.value.errors[0].field == "expression"


@pytest.mark.parametrize("expression", [r"\+\d{6}", r"[+*]\d{6}", r"\\d{6}A\*", r"(?i)emp\d{6}", r"[[:alpha:]]\d{6}"])
def test_what_has_a_bound_is_taken(expression: str) -> None:
    compiled("x", Registration(expression, Check.NONE, ""))


def test_a_hostile_text_ends() -> None:
    assert finder(r"(\d? ?){60}\d{6}x", Check.LUHN).find("1 " * 50_000) == []  # an engine that backtracks needs years


@pytest.mark.parametrize(
    ("expression", "example"), [(EMPLOYEE, "EMP-12345"), (r"\d{5}", "12345"), (EMPLOYEE, "x EMP-123456")]
)
def test_an_example_that_would_not_be_masked_is_told(expression: str, example: str) -> None:
    made = compiled("x", Registration(expression, Check.NONE, ""))
    with pytest.raises(AppError) as refused:
        require_examples(made, ["EMP-123456"] * (expression == EMPLOYEE) + [example])
    assert refused.value.errors[0].field.startswith("examples[")
    assert example not in str(refused.value)


def test_masks_name_the_kind_and_hold_nothing_that_fits() -> None:
    withhold_also(finder())
    try:
        assert withheld_text("EMP-123456 is mine") == "[employee withheld] is mine"
        assert withheld_text("工号EMP-123456") == "工号[employee 已隐去]"
        assert withheld_text(withheld_text("工号EMP-123456")) == "工号[employee 已隐去]"
        both = "EMP-123456 4111111111111111"
        assert withheld({"a": [both], "EMP123456": 1}) == {
            "a": ["[employee withheld] [bank card number withheld]"],
            "[employee withheld]": 1,
        }
        assert holds_secret("EMP123456")
    finally:
        withhold_also(None)
    assert withheld_text("EMP-123456") == "EMP-123456"


def test_numbers_of_json_are_masked_where_they_are_the_callers() -> None:
    withhold_also(finder(r"\d{6}"))
    try:
        assert withheld({"ttl_seconds": 604800, "text": "604800"}) == {
            "ttl_seconds": 604800,
            "text": "[employee withheld]",
        }
        assert withheld_json({"a": [604800, 604800.0, 12]}) == {"a": ["[employee withheld]", "[employee withheld]", 12]}
        assert withheld({"arguments": '{"n": 604800}'}) == {"arguments": '{"n": "[employee withheld]"}'}
    finally:
        withhold_also(None)


def test_what_overlaps_is_masked_as_one() -> None:
    two = Expressions(
        [
            *(
                compiled(name, Registration(each, Check.NONE, ""))
                for name, each in (("a", r"AB-\d{6}"), ("b", r"\d{6}-CD"))
            )
        ]
    )
    assert [tuple(each) for each in two.find("AB-123456-CD AB-654321")] == [(0, 12, "a"), (13, 22, "a")]
    assert merged([]) == []
