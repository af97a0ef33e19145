"""Who outside of the installation is sent texts of users: what a certificate of erasure and the notice must name."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, order=True)
class Recipient:
    """A service of models that texts go to: for which purpose, which host, which model."""

    purpose: str
    host: str
    model: str


@dataclass(frozen=True, slots=True)
class Receiving:
    """Since when a recipient is, or was, sent texts; `until` is None where it still is."""

    recipient: Recipient
    since: datetime
    until: datetime | None
