"""Who a piece of work is done for: the first argument of everything that touches memory."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Actor(StrEnum):
    """Who acts on the user's memory."""

    USER = "user"
    OPERATOR = "operator"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Subject:
    """A user as an issuer of tokens names them. It is turned into a reference at once and stored nowhere."""

    issuer: str
    tenant: str
    sub: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant, the user's reference and the agent; minted only from a verified token or a claimed job.

    `request_id` and `address` (the class of the caller's address, never the address) go into the audit.
    """

    tenant: str
    usr: UUID
    agent: str | None
    actor: Actor = Actor.USER
    request_id: str = ""
    address: str = ""
