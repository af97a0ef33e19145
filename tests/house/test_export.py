"""Every kind of a user's data is in an export, or it is said why not; and the description is what the code makes."""

from collections.abc import Iterable, Iterator

import pytest

from app.commands.documents import EXPORT_FORMAT_FILE
from app.portability.format import export_format_markdown
from app.portability.omissions import LEFT_OUT
from app.portable import exported
from app.wiring import Wiring
from tests.house.source import ROOT


def not_given_once(
    kinds: Iterable[tuple[str, tuple[str, ...]]], given: Iterable[str], left: Iterable[str]
) -> Iterator[str]:
    """Yield what of the kinds of a user's data (a name, and its tables) an export neither gives nor leaves out."""
    wanted = {name for kind, tables in kinds for name in tables or (kind,)}
    given, left = list(given), set(left)
    for name in sorted(wanted - left - set(given)):
        yield f"{name}: give it in an export, or say in app/portability/omissions.py why not"
    for name in sorted((left | set(given)) - wanted):
        yield f"{name}: given or left out, and no kind of a user's data"
    for name in sorted(name for name in set(given) if given.count(name) + (name in left) > 1):
        yield f"{name}: given twice, or given and left out"


def test_every_kind_of_a_users_data_is_exported_or_left_out_for_a_reason(wiring: Wiring) -> None:
    kinds = [(kind.name, kind.tables) for kind in wiring.user_data]
    given = [table for kind in exported() for table in kind.tables]
    assert list(not_given_once(kinds, given, LEFT_OUT)) == []
    assert all(LEFT_OUT.values())


@pytest.mark.parametrize(
    ("given", "left"),
    [([], []), (["messages", "messages"], []), (["messages"], ["messages"]), (["messages", "letters"], [])],
    ids=["forgotten", "twice", "both", "unknown"],
)
def test_what_is_forgotten_is_found(given: list[str], left: list[str]) -> None:
    assert list(not_given_once([("sessions", ("messages",))], given, left))


def test_the_description_of_the_format_is_what_the_code_makes() -> None:
    records = {path: model for kind in exported() for path, model in kind.records.items()}
    assert (ROOT / EXPORT_FORMAT_FILE).read_text("utf-8") == export_format_markdown(records, LEFT_OUT)
