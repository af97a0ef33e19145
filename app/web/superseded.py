"""What is newer than a text, on the wire. It stands here because the features that show texts share it."""

from collections.abc import Sequence

from app.core.superseding import PlaceKind, Superseded
from app.web.wire import Answer


class SupersededAnswer(Answer):
    """An item of user memory that has something newer than what the text says.

    `field` is the place in the profile, `key` the preference's; the other is null. What it says now is read there.
    """

    kind: str
    id: str
    field: str | None
    key: str | None
    version: int


def superseded_answers(found: Sequence[Superseded]) -> list[SupersededAnswer]:
    """Show what is newer than a text, each place once."""
    return [
        SupersededAnswer(
            kind=place.kind.value,
            id=place.id,
            field=place.name if place.kind is PlaceKind.PROFILE else None,
            key=place.name if place.kind is PlaceKind.PREFERENCE else None,
            version=place.version,
        )
        for place in dict.fromkeys(each.place for each in found)
    ]
