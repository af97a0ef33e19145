"""What a part of the story is made of: what is said, what is handed in, what is asked, what must be found."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """One conversation with a document and three questions. `constraint` is what the user asked for long ago."""

    title: str
    messages: Sequence[dict[str, str]]
    document_title: str
    document_type: str
    document: str
    question_to_documents: str
    words_in_document: str
    question_to_conversation: str
    words_in_conversation: str
    question_in_context: str
    constraint: str


def turns(*texts: str) -> list[dict[str, str]]:
    """Return messages of the user and the assistant, who take turns."""
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
