"""A merge patch changes what it names, removes what it sets to null, and leaves the rest: the cases of RFC 7396."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import AppError
from app.profile.model import MAX_ATTRIBUTES_BYTES, MAX_ATTRIBUTES_DEPTH, Facts, merged, patched

# RFC 7396, appendix A: those whose patch is an object.
EXAMPLES = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
values = st.recursive(scalars, lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3), max_leaves=8)
objects = st.dictionaries(st.text(max_size=2), values, max_size=3)


@pytest.mark.parametrize(("target", "patch", "result"), EXAMPLES)
def test_the_examples_of_the_rfc(target: object, patch: dict[str, object], result: dict[str, object]) -> None:
    assert merged(target, patch) == result


@given(objects, objects)
def test_the_same_patch_twice_is_the_same_as_once(target: dict[str, object], patch: dict[str, object]) -> None:
    once = merged(target, patch)
    assert merged(once, patch) == once


@given(objects, objects)
def test_what_a_patch_does_not_name_stays(target: dict[str, object], patch: dict[str, object]) -> None:
    result = merged(target, patch)
    assert {name: value for name, value in result.items() if name not in patch} == {
        name: value for name, value in target.items() if name not in patch
    }


def test_a_patch_does_not_change_what_it_is_merged_into() -> None:
    target: dict[str, object] = {"a": {"b": 1}}
    merged(target, {"a": {"b": 2}})
    assert target == {"a": {"b": 1}}


def test_null_takes_a_field_back_to_what_it_was_before_it_was_known() -> None:
    known = Facts("Li Wei", "engineer", "search", active=False, last_login_at=datetime.now(UTC), attributes={"a": 1})
    names = ("name", "role", "department", "active", "last_login_at", "attributes")
    assert patched(known, dict.fromkeys(names)) == Facts()


def test_a_field_that_is_not_sent_is_kept() -> None:
    known = Facts("Li Wei", "engineer", attributes={"a": 1})
    assert patched(known, {"role": "lead"}) == Facts("Li Wei", "lead", attributes={"a": 1})


def test_attributes_that_grow_too_large_in_all_are_refused() -> None:
    half = "x" * (MAX_ATTRIBUTES_BYTES // 2)
    with pytest.raises(AppError) as refused:
        patched(Facts(attributes={"a": half}), {"attributes": {"b": half}})
    assert [error.field for error in refused.value.errors] == ["attributes"]


def test_attributes_that_are_nested_too_deeply_are_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(MAX_ATTRIBUTES_DEPTH):
        deep = {"a": deep}
    with pytest.raises(AppError) as refused:
        patched(Facts(), {"attributes": deep})
    assert refused.value.code == "invalid"
