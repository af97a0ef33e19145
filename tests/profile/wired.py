"""The service of profiles, as the product wires it."""

from app.profile.service import Profiles
from app.wiring import Wiring


def profiles_of(wiring: Wiring) -> Profiles:
    service = wiring.provided[Profiles]
    assert isinstance(service, Profiles)
    return service
