"""The service of preferences, as the product wires it."""

from app.preferences.service import Preferences
from app.wiring import Wiring


def preferences_of(wiring: Wiring) -> Preferences:
    service = wiring.provided[Preferences]
    assert isinstance(service, Preferences)
    return service
