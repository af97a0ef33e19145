"""Who a piece of work is done for: the first argument of everything that touches memory."""

from dataclasses import dataclass, field
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

    `request_id` and `address` (the class of the caller's address, never the address) go into the audit; so do an
    operator's reference and the reason they gave.
    """

    tenant: str
    usr: UUID
    agent: str | None
    actor: Actor = Actor.USER
    request_id: str = ""
    address: str = ""
    operator: UUID | None = None
    reason: str = field(default="", repr=False)


# Stands in the audit for no user in particular: what belongs to a tenant, or a token whose user nobody knows.
NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Operator:
    """Somebody whose token bears an `admin:` scope: they act on the users of their own tenant.

    `issuer` is the issuer of their token: users are looked up as it names them. `reference` stands for the operator in
    the audit, the same at every time; `reason` is why they act, in their words.
    """

    issuer: str
    tenant: str
    agent: str | None
    request_id: str = ""
    address: str = ""
    reference: UUID | None = None
    reason: str = field(default="", repr=False)

    def upon(self, usr: UUID) -> Scope:
        """Return the scope of what the operator does to a user of the tenant; row-level security keeps others out."""
        return Scope(
            self.tenant,
            usr,
            self.agent,
            Actor.OPERATOR,
            self.request_id,
            self.address,
            self.reference,
            self.reason,
        )


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody without a token of a user: whom the token of an anonymous session lets into that session, and nowhere
    else. Empty for one who has none yet.
    """

    session_token: str = field(repr=False)
