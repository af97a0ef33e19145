"""What the profile gives to a prompt: one line for each thing that is known of the user."""

import json
from collections.abc import Iterator, Sequence

from app.core.ids import show
from app.core.memory import Candidate, Question, Tier
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.profile import store
from app.profile.model import EMPTY, Facts

KIND = "profile"


class ProfileSource:
    """Gives what is known of the user. A Source of app.core.memory."""

    kinds = frozenset({KIND})

    def __init__(self, db: Database) -> None:
        """Take the doors to the database."""
        self._db = db

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return a line for each field and attribute; each has the id and version of the profile it is part of."""
        if not self.kinds & question.include:
            return []
        async with self._db.read(scope) as tx:
            found = await (store.find(tx) if question.snapshot is None else store.find_at(tx, question.snapshot))
        profile = found or EMPTY
        return [
            Candidate(
                kind=KIND,
                id=show("usr", scope.usr),
                version=profile.version,
                text=f"{name}: {json.dumps(value, ensure_ascii=False)}",
                tier=Tier.USER,
                origin="stated",
                created_at=profile.updated_at,
                order=order,
            )
            for order, (name, value) in enumerate(_lines(profile.facts))
        ]


def _lines(facts: Facts) -> Iterator[tuple[str, object]]:
    for name in ("name", "role", "department"):
        value = getattr(facts, name)
        if value is not None:
            yield name, value
    yield from facts.attributes.items()
