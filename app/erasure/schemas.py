"""Erasures on the wire."""

from typing import Any

from app.core.ids import show
from app.erasure.model import Erasure, Verification
from app.web.wire import Answer, Moment


class ErasureAnswer(Answer):
    """An erasure: `running` until every store is empty, then `done` with its certificate. One schema for 200 and 202.

    `stopped`: no new memory of this person begins. `receipt` opens it later, in the header `Cairn-Receipt`, when the
    user and all their tokens are gone: keep it.
    """

    id: str
    state: str
    receipt: str
    requested_at: Moment
    finished_at: Moment | None
    stopped: bool
    certificate: dict[str, Any] | None


class VerificationAnswer(Answer):
    """What a new look into every store found: how many items of each kind are left.

    `unswept`: folders of deleted collections on Chroma's disk that wait for the worker, anybody's; null where that disk
    is elsewhere.
    """

    id: str
    checked_at: Moment
    clean: bool
    remaining: dict[str, int]
    unswept: int | None


class KeySetAnswer(Answer):
    """The public keys that check this installation's signatures (RFC 7517)."""

    keys: list[dict[str, str]]


def erasure_answer(erasure: Erasure, receipt: str) -> ErasureAnswer:
    """Show an erasure."""
    return ErasureAnswer(
        id=show("ers", erasure.id),
        state=erasure.state,
        receipt=receipt,
        requested_at=erasure.requested_at,
        finished_at=erasure.finished_at,
        stopped=erasure.stop,
        certificate=None if erasure.certificate is None else dict(erasure.certificate),
    )


def verification_answer(erasure: Erasure, verification: Verification) -> VerificationAnswer:
    """Show a verification."""
    return VerificationAnswer(
        id=show("ers", erasure.id),
        checked_at=verification.checked_at,
        clean=verification.clean,
        remaining=dict(verification.remaining),
        unswept=verification.unswept,
    )
