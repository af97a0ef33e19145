"""What the product wires, by its class."""

from typing import TypeVar

from app.preferences.service import Preferences
from app.wiring import Wiring

T = TypeVar("T")


def provided(wiring: Wiring, kind: type[T]) -> T:
    service = wiring.provided[kind]
    assert isinstance(service, kind)
    return service


def preferences_of(wiring: Wiring) -> Preferences:
    return provided(wiring, Preferences)
