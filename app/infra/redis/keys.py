"""The names of all keys. A user's keys share the hash tag `{usr}`, so that in a cluster they share a slot."""

from uuid import UUID


def tombstone(usr: UUID) -> str:
    """Name the mark of a user who is no more: while it stands no script writes for them."""
    return f"cairn:{{{usr.hex}}}:dead"


def index(usr: UUID) -> str:
    """Name the list of the user's keys, a sorted set by the time of each one's expiry: nothing uses KEYS or SCAN."""
    return f"cairn:{{{usr.hex}}}:keys"


def window(usr: UUID, session_id: UUID) -> str:
    """Name the messages of a session's window, a sorted set by sequence number."""
    return f"cairn:{{{usr.hex}}}:window:{session_id.hex}"


def anonymous(session_id: UUID) -> str:
    """Name an anonymous session. Its keys share the hash tag `{session}`: it has no user."""
    return f"cairn:{{{session_id.hex}}}:anonymous"


def anonymous_messages(session_id: UUID) -> str:
    """Name the messages of an anonymous session, a sorted set by sequence number."""
    return f"cairn:{{{session_id.hex}}}:anonymous:messages"


def anonymous_appends(session_id: UUID) -> str:
    """Name what the appends to an anonymous session were, so that one that comes twice has one effect."""
    return f"cairn:{{{session_id.hex}}}:anonymous:appends"


def window_state(usr: UUID, session_id: UUID) -> str:
    """Name what is known of the window: which epoch of the session it shows, and how far."""
    return f"cairn:{{{usr.hex}}}:window:{session_id.hex}:state"


def ticket(usr: UUID, session_id: UUID) -> str:
    """Name the right to make the session's window anew, which one reader has at a time and every writer takes away."""
    return f"cairn:{{{usr.hex}}}:window:{session_id.hex}:ticket"


def memory(usr: UUID) -> str:
    """Name the answers of reads of the user's memory, all as of one change of it."""
    return f"cairn:{{{usr.hex}}}:memory"


def verification_attempts(usr: UUID) -> str:
    """Name the times of the user's comparisons with registered secrets, a sorted set."""
    return f"cairn:{{{usr.hex}}}:verifications"


def verification(usr: UUID, digest: bytes) -> str:
    """Name what a verification's token stands for, by the token's hash."""
    return f"cairn:{{{usr.hex}}}:verification:{digest.hex()}"
