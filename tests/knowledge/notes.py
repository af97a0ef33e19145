"""A document of notes about ten things, in one language, and questions about them in two."""

from app.core.scope import Scope
from tests.knowledge.conftest import Knowledge

TOPICS = (
    "the harbour",
    "bee-keeping",
    "a violin",
    "tax law",
    "the desert",
    "cake",
    "a railway",
    "go",
    "gravity",
    "tea",
)
QUESTIONS = ("keeping bees", "围棋怎么下", "what does the law say of taxes", "音乐", "how strong is gravity", "火车")


def note(topic: str, number: int) -> str:
    return f"Note {number} is about {topic}. It was written on day {number} by the {number % 7}th member of the club."


async def filled(knowledge: Knowledge, someone: Scope, texts: int = 30) -> None:
    body = "\n\n".join(f"# {number}\n\n{note(TOPICS[number % len(TOPICS)], number)}" for number in range(texts))
    await knowledge.ready(someone, body + "\n# End\n\nThe end.")


async def answers(knowledge: Knowledge, someone: Scope) -> list[list[str]]:
    return [await knowledge.texts(someone, question, 5) for question in QUESTIONS]
