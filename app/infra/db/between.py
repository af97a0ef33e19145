"""What a kind of memory does with another kind's rows, in a transaction of its own: functions that wiring hands over.

Features don't import each other, and a row of one may be of no use, or say too much, without a row of the other.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction

# Keep a session from being deleted before the transaction ends; False where there is none.
HoldSession = Callable[[Transaction, UUID], Awaitable[bool]]
# Remove what was kept about a session: all of it, or what is older than a time.
ForgetTraces = Callable[[Transaction, UUID, datetime | None, AuditEntry], Awaitable[None]]
