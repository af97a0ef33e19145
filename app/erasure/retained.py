"""What stays after an erasure, and why: the certificate says it in these words."""

from typing import Final

from app.core.memory import Retention

_NO_END: Final = "no end is set: for as long as this installation keeps its database"

TOMBSTONE: Final = Retention(
    "one row with a random reference, so that whatever is in flight for it is refused",
    "security of processing (GDPR Article 32; PIPL Article 51)",
    _NO_END,
)
PROOF: Final = Retention(
    "rows without content that name a random reference: the proof of who did what, and of this erasure",
    "accountability and the defence of legal claims (GDPR Articles 5(2) and 17(3)(e); PIPL Article 69)",
    _NO_END,
)
