"""What the profile gives to a prompt: one line for each thing that is known of the user."""

import json
from collections.abc import Iterator, Sequence

from app.core.assembly import Reason
from app.core.ids import show
from app.core.memory import Candidate, Question, Tier
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.profile import store
from app.profile.model import EMPTY, Facts, Profile

KIND = "profile"


class ProfileSource:
    """Gives what is known of the user. A Source of app.core.memory."""

    kinds = frozenset({KIND})

    def __init__(self, db: Database) -> None:
        """Take the doors to the database."""
        self._db = db

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return a line for each field and attribute; each has the id and version of the profile it is part of.

        What was erased since the snapshot has no words left, and says so.
        """
        if not self.kinds & question.include:
            return []
        async with self._db.read(scope) as tx:
            found = await (store.find(tx) if question.snapshot is None else store.find_at(tx, question.snapshot))
            profile = found or EMPTY
            erased = profile.facts.erased
            # What the newest version tells as erased as well is no news.
            newest = await store.find(tx) if erased else None
        if newest is not None and newest.version == profile.version:
            erased = frozenset()
        texts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in lines(profile.facts)]
        texts += [""] * len(erased)
        return [_candidate(scope, profile, text, order) for order, text in enumerate(texts)]


def _candidate(scope: Scope, profile: Profile, text: str, order: int) -> Candidate:
    return Candidate(
        kind=KIND,
        id=show("usr", scope.usr),
        version=profile.version,
        text=text,
        tier=Tier.USER,
        origin="stated",
        created_at=profile.updated_at,
        order=order,
        ignored=None if text else Reason.ERASED,
    )


def lines(facts: Facts) -> Iterator[tuple[str, object]]:
    """Yield each field and attribute that says something, by its name."""
    for name in ("name", "role", "department"):
        value = getattr(facts, name)
        if value is not None:
            yield name, value
    yield from facts.attributes.items()
