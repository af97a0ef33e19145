"""How much the profile says."""

from app.infra.db.transaction import Transaction
from app.profile import store
from app.profile.source import lines


async def count_fields(tx: Transaction) -> int:
    """Return how many fields the user's profile has."""
    profile = await store.find(tx)
    return 0 if profile is None else len(list(lines(profile.facts)))
