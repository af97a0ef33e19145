"""What stands in a window: the newest units, none of them torn apart."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.ids import uuid7
from app.sessions.model import MAX_SPAN, MAX_WINDOW_MESSAGES, Body, Message, Role, split, units

SESSION = UUID(int=1)


def make(text: str) -> list[Message]:
    """Make messages of a word each: `u` says something, `a` answers, `c1` calls tool 1, `r1` is its result.

    `c` and `r` are a call and a result without ids; `c12` calls two tools at once.
    """
    return [_message(seq, word) for seq, word in enumerate(text.split(), 1)]


def _message(seq: int, word: str) -> Message:
    kind, ids = word[0], list(word[1:])
    calls = [{"id": one} for one in ids] or [{"name": "search"}]
    body = {
        "u": Body(content="said"),
        "a": Body(content="answered"),
        "c": Body(tool_calls=calls),
        "r": Body(content="found", tool_call_id=ids[0] if ids else None),
    }[kind]
    role = {"u": Role.USER, "a": Role.ASSISTANT, "c": Role.ASSISTANT, "r": Role.TOOL}[kind]
    now = datetime.now(UTC)
    return Message(uuid7(), SESSION, seq, role, body, now, now)


def lengths(text: str) -> list[int]:
    return [len(unit) for unit in units(make(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("u a u", [1, 1, 1]),
        ("u c1 r1 a", [1, 2, 1]),
        ("c12 r1 r2", [3]),
        ("c12 r2 r1 u", [3, 1]),
        ("c1 u r1 a", [3, 1]),
        ("c1 u c2 r1 a r2 u", [6, 1]),
        ("c r r a", [3, 1]),
        ("u r a", [1, 1, 1]),
        ("r1 a", [1, 1]),
        ("c1 r1 c1 r1", [2, 2]),
        ("c1 u", [1, 1]),
    ],
)
def test_a_call_and_its_results_are_one_unit(text: str, expected: list[int]) -> None:
    assert lengths(text) == expected


@pytest.mark.parametrize(
    ("text", "size", "left"),
    [
        ("u a u", 3, 0),
        ("u a u", 2, 1),
        ("u c1 r1 a", 1, 3),
        ("u c1 r1 a", 2, 1),
        ("u c1 r1", 1, 1),
        ("u c1 u a u", 1, 1),
        ("u c12 r1 u u", 1, 1),
    ],
)
def test_the_window_is_the_newest_units(text: str, size: int, left: int) -> None:
    leaving, kept = split(make(text), size)
    assert (len(leaving), len(kept)) == (left, len(text.split()) - left)


def test_a_call_that_is_never_answered_holds_the_window_for_a_while_only() -> None:
    text = "c1 " + "u " * (MAX_SPAN - 1)
    assert split(make(text), 5)[0] == []
    leaving, kept = split(make(text + "u"), 5)
    assert len(leaving) == MAX_SPAN + 1 - 5
    assert len(kept) == 5


def test_pairs_that_overlap_for_ever_are_no_window_without_end() -> None:
    text = "c0 " + " ".join(f"c{n % 8 + 1} r{n % 8}" if n % 9 < 8 else "u" for n in range(400))
    leaving, kept = split(make(text), 3)
    assert len(kept) <= MAX_WINDOW_MESSAGES
    assert len(leaving) + len(kept) == len(text.split())


def test_a_window_of_large_units_is_bounded() -> None:
    text = "c12345 r1 r2 r3 r4 r5 " * 200
    leaving, kept = split(make(text), 200)
    assert len(kept) <= MAX_WINDOW_MESSAGES
    assert len(leaving) % 6 == 0


@given(st.lists(st.sampled_from(["u", "a", "c1", "r1", "c2", "r2", "c12", "c", "r"]), max_size=90), st.integers(1, 20))
def test_nothing_is_lost_and_no_pair_is_torn(words: list[str], size: int) -> None:
    messages = make(" ".join(words))
    leaving, kept = split(messages, size)
    assert [*leaving, *kept] == messages
    assert [message for unit in units(messages) for message in unit] == messages
    assert len(units(kept)) >= min(size, len(units(messages)))
    for place, message in enumerate(messages):
        if message.role is Role.TOOL and message.body.tool_call_id:
            calls = [
                earlier
                for earlier in messages[max(0, place - MAX_SPAN) : place]
                if any(call.get("id") == message.body.tool_call_id for call in earlier.body.tool_calls)
            ]
            assert not calls or (calls[-1] in kept) == (message in kept)
