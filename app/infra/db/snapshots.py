"""Snapshots: the number of a user's last change, bound to that user; and which one a read looks at.

A snapshot never changes, but for what was erased since: that shows as erased in every one.
"""

import hmac
from datetime import UTC, datetime, timedelta

from sqlalchemy import ScalarSelect, func, select

from app.core.errors import invalid
from app.core.moments import Moment, Snapshot
from app.core.scope import Scope
from app.infra.crypto.box import Box
from app.infra.db.engine import IDLE_IN_TRANSACTION_MS
from app.infra.db.tables import user_changes, users
from app.infra.db.transaction import Database, Transaction

_PREFIX = "snp"
_MAX_DIGITS = 18
# No change is in flight for longer; twice that, for clocks that differ.
_IN_FLIGHT = 2 * timedelta(milliseconds=IDLE_IN_TRANSACTION_MS)


async def settle(db: Database, scope: Scope, moment: Moment) -> None:
    """Wait until no change is in flight that will bear a time up to the moment. Call it before the read begins.

    A change has its time before it is committed: without this, the same `as_of` would answer something else a little
    later. Nobody waits for a moment that is long past.
    """
    if moment.as_of is None or moment.as_of < datetime.now(UTC) - _IN_FLIGHT:
        return
    async with db.maintain(scope) as tx:
        # Shared, so that two of these don't wait for each other; whoever has numbered a change has the row locked.
        await tx.scalar(select(users.c.usr).filter_by(usr=scope.usr).with_for_update(read=True))


async def look(tx: Transaction, moment: Moment, page: int | None = None) -> Snapshot:
    """Return the snapshot that a read looks at; `page` is the number of the one that the page before was read at.

    Raises `invalid` for a snapshot that this user was never given.
    """
    last = await tx.change_number()
    if moment.snapshot is not None:
        number = read_snapshot(tx.box, moment.snapshot)
    elif page is not None:
        number = page
    elif moment.as_of is not None:
        number = await _number_as_of(tx, moment.as_of)
    else:
        number = last
    if number > last:
        raise invalid("snapshot" if page is None else "cursor", "isn't one of this user's memory")
    return Snapshot(number, show_snapshot(tx.box, number), last - number)


def made_at(scope: Scope, number: int) -> ScalarSelect[datetime]:
    """Return the time of the user's change of that number, for the statement that writes what it says."""
    return select(user_changes.c.at).filter_by(usr=scope.usr, number=number).scalar_subquery()


def show_snapshot(box: Box, number: int) -> str:
    """Return the opaque form: the number and a tag that only this user's box makes."""
    return f"{_PREFIX}_{number}_{_tag(box, number)}"


def read_snapshot(box: Box, text: str) -> int:
    """Return the change number that `text` shows. Raises `invalid` for anything this user was never given."""
    prefix, _, rest = text.partition("_")
    digits, _, tag = rest.partition("_")
    if prefix != _PREFIX or not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise invalid("snapshot", "isn't a snapshot of this user's memory")
    if not hmac.compare_digest(tag.encode(), _tag(box, int(digits)).encode()):
        raise invalid("snapshot", "isn't a snapshot of this user's memory")
    return int(digits)


async def _number_as_of(tx: Transaction, moment: datetime) -> int:
    """Return the number of the last change that was made up to a moment; 0 before the first."""
    last = (
        select(user_changes.c.number)
        .where(user_changes.c.usr == tx.scope.usr, user_changes.c.at <= moment)
        .order_by(user_changes.c.at.desc(), user_changes.c.number.desc())
        .limit(1)
    )
    number: int = await tx.scalar(select(func.coalesce(last.scalar_subquery(), 0)))
    return number


def _tag(box: Box, number: int) -> str:
    return box.tag("snapshot", str(number))[:8].hex()
