"""What a user lets be done with what they say."""

from dataclasses import dataclass

from app.core.processing import Processing


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user lets be done, and the version of that."""

    processing: Processing
    version: int
