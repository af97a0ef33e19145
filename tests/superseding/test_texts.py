"""Which values are looked for in texts, and where they stand in one: as a whole, in both languages."""

import pytest

from app.core.superseding import FormerValue, Outdated, Place, PlaceKind
from app.core.text.occurrences import identifies

PLACE = Place(PlaceKind.PROFILE, "usr_1", "attributes/email", 2)


def holds(value: str, text: str, *in_force: str) -> bool:
    """Say whether a text is outdated where one value is former."""
    return bool(Outdated([FormerValue(value, PLACE, 1)], in_force).of(text))


@pytest.mark.parametrize(
    "value",
    [
        "old@x.example",
        "+86 138 0013 8000",
        "12 High Street",
        "CUST-00417",
        "北京市朝阳区建国路88号",
        "https://old.example/a",
    ],
)
def test_what_points_at_something_is_looked_for(value: str) -> None:
    assert identifies(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "true",
        "short",
        "markdown",
        "zh-CN",
        "12",
        "123456",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026年5月1日",
        "简短",
    ],
)
def test_common_words_dates_and_short_numbers_are_not(value: str) -> None:
    assert not identifies(value)


def test_names_are_looked_for_where_they_are_names() -> None:
    names = ("Alice", "欧阳明", "Li", "张伟", "Bo")
    assert [identifies(name, is_name=True) for name in names] == [True] * 5
    assert not any(identifies(name) for name in names if name != "欧阳明")
    assert not any(identifies(name, is_name=True) for name in ("B", "伟", "42", ""))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Li", "My name is Li."),
        ("Li", "Hello, I’m LI, and"),
        ("Bob", "call me Bob"),
        ("Li", "我叫Li今年三十"),
        ("张伟", "你好，我叫张伟。"),
        ("张伟", "姓名：张伟\n电话"),
        ("张伟", "名字 张伟"),
    ],
)
def test_a_short_name_is_found_where_it_is_said_to_be_one(name: str, text: str) -> None:
    assert holds(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Li", "a li in China is half a kilometre"),
        ("Will", "I will go"),
        ("Li", "I am Lily"),
        ("Li", "his surname is Lin"),
        ("张伟", "我叫张伟明"),
        ("张伟", "扩张伟大的事业"),
        ("张伟", "张伟的合同"),
        ("高兴", "我很高兴"),
    ],
)
def test_a_short_name_is_not_found_in_other_words(name: str, text: str) -> None:
    assert not holds(name, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("old@x.example", "Write to OLD@X.example."),
        ("old@x.example", "联系邮箱是old@x.example，请用它"),
        ("old@x.example", "邮箱：ｏｌｄ＠ｘ．ｅｘａｍｐｌｅ"),
        ("old@x.example", "<old@x.example>"),
        ("13800138000", "电话138-0013-8000。"),
        ("138 0013 8000", "call 13800138000 now"),
        ("12 High Street", "at 12 High\n  street, today"),
        ("北京市朝阳区建国路88号", "住在北京市朝阳区建国路88号的人"),
    ],
)
def test_a_value_is_found_as_a_whole(value: str, text: str) -> None:
    assert holds(value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("old@x.example", "Write to old@x.example.com"),
        ("old@x.example", "Write to very.old@x.example"),
        ("old@x.example", "Write to bold@x.example"),
        ("old@x.example", "nothing at all"),
        ("13800138000", "id 9138001380005"),
        ("12 High Street", "at 112 High Street"),
        ("CUST-00417", "CUST-00417-B"),
    ],
)
def test_a_part_of_something_else_is_not_it(value: str, text: str) -> None:
    assert not holds(value, text)


def test_what_is_in_force_is_never_outdated() -> None:
    assert not holds("old@x.example", "to old@x.example", "OLD@x.example")
    assert not holds("13800138000", "13800138000", "138-0013-8000")
    assert not holds("欧阳明", "欧阳明月在这里", "欧阳明月")
    assert holds("欧阳明", "欧阳明月和欧阳明", "欧阳明月")


def test_each_place_is_told_once() -> None:
    other = Place(PlaceKind.PREFERENCE, "prf_1", "contact.mail", 4)
    former = [FormerValue("old@x.example", place, number) for number, place in enumerate([PLACE, other, PLACE])]
    found = Outdated(former).of("old@x.example old@x.example", None, "OLD@X.EXAMPLE")
    assert {each.place for each in found} == {PLACE, other}
    assert len(found) == 2
