"""Verifications on the wire. The bodies that name a value aren't masked: it is compared and stored nowhere."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from app.verifications.model import MAX_VALUE_CHARS, MIN_VALUE_CHARS, TYPE_PATTERN, Registration, Verification
from app.web.wire import Answer, Moment, Request

MAX_TOKEN_CHARS = 128

Type = Annotated[str, Field(pattern=TYPE_PATTERN, examples=["identity_card", "passport", "bank_card"])]
Value = Annotated[str, Field(min_length=MIN_VALUE_CHARS, max_length=MAX_VALUE_CHARS)]


class SecretRequest(Request):
    """The value to register. However it is written (grouped, in full width), it is the same."""

    takes_secrets = True
    value: Value


class VerificationRequest(Request):
    """The value that somebody claims to be the registered one."""

    takes_secrets = True
    type: Type
    value: Value


class CheckRequest(Request):
    """The token that somebody shows."""

    token: Annotated[str, Field(min_length=1, max_length=MAX_TOKEN_CHARS)]


class VerificationAnswer(Answer):
    """That the value was right, and until when the token says so."""

    token: str
    expires_at: Moment


class CheckAnswer(Answer):
    """What a live token stands for: the user of the access token knows the registered value of this type."""

    type: str
    expires_at: Moment


class RegistrationAnswer(Answer):
    """What the user can be verified by. `registered` is false once an operator has withdrawn it."""

    type: str
    registered: bool
    reason: str
    changed_at: Moment


class RegistrationsAnswer(Answer):
    """Everything that is registered, or was."""

    items: list[RegistrationAnswer]


def verification_answer(verification: Verification) -> VerificationAnswer:
    """Show a new token."""
    return VerificationAnswer(token=verification.token, expires_at=verification.expires_at)


def check_answer(verification: Verification) -> CheckAnswer:
    """Show what a token stands for."""
    return CheckAnswer(type=verification.type, expires_at=verification.expires_at)


def registrations_answer(found: Sequence[Registration]) -> RegistrationsAnswer:
    """Show what is registered."""
    items = [
        RegistrationAnswer(
            type=each.type, registered=each.is_registered, reason=each.reason, changed_at=each.changed_at
        )
        for each in found
    ]
    return RegistrationsAnswer(items=items)
