"""Plays a conversation and documents of your own: what they say isn't known here, so less of it can be checked."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from app.demo.forgetting import forget
from app.demo.memory import add_file, append, assemble, await_indexed, await_ready, open_session, recall, search
from app.demo.play import change_preference_twice, heading
from app.demo.visitor import Service, require

MAX_LINES: Final = 50_000
MAX_DOCUMENTS: Final = 200
MAX_QUESTIONS: Final = 5
DOCUMENT_SUFFIXES: Final = frozenset({".md", ".txt", ".html", ".csv", ".pdf", ".docx"})
ASSISTANTS: Final = frozenset({"assistant", "bot", "ai"})
TURN: Final = timedelta(seconds=30)


class UnreadableError(Exception):
    """The file isn't a conversation, or the folder holds no documents."""


@dataclass(frozen=True, slots=True)
class Talk:
    """The messages of one session, in order."""

    external_id: str
    messages: list[dict[str, str]] = field(default_factory=list)


def read_talks(path: Path) -> list[Talk]:
    """Return the sessions of a file with one JSON object a line.

    A line has `session_id`, `speaker` and `text`; `conversation_id` and `session_time` (ISO 8601) where they are known.
    A speaker named assistant is the assistant; anyone else is a user, and named where the name says more than `user`.
    """
    talks: dict[str, Talk] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if number > MAX_LINES:
                raise UnreadableError(f"{path} has more than {MAX_LINES} lines")
            if line.strip():
                _add(talks, line, f"{path}, line {number}")
    if not talks:
        raise UnreadableError(f"{path} is empty")
    return list(talks.values())


def read_folder(folder: Path) -> list[Path]:
    """Return the documents of a folder and of those inside it."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in DOCUMENT_SUFFIXES and path.is_file())
    if not found:
        raise UnreadableError(f"{folder} holds no documents ({', '.join(sorted(DOCUMENT_SUFFIXES))})")
    return found[:MAX_DOCUMENTS]


async def play(service: Service, talks: Sequence[Talk], documents: Sequence[Path], asked: Sequence[str]) -> None:
    """Store the conversation and the documents, ask, and forget. With no questions, the user's own last are asked."""
    user = service.visitor(f"demo-{uuid.uuid4().hex[:8]}")
    questions = (list(asked) or _last_questions(talks))[:MAX_QUESTIONS]
    heading(service, "1. A preference that changes twice")
    await change_preference_twice(user)
    sessions: list[str] = []
    if talks:
        total = sum(len(talk.messages) for talk in talks)
        heading(service, f"2. The conversation: {total} messages in {len(talks)} session(s)")
    for talk in talks:
        sessions.append(await open_session(user, talk.external_id[:200], talk.external_id[:256]))
        await append(user, sessions[-1], talk.messages)
    if documents:
        heading(service, f"3. {len(documents)} document(s)")
        ids = [await add_file(user, path, "document") for path in documents]
        for document_id in ids:
            await await_ready(user, document_id)
    last = sessions[-1] if sessions else await open_session(user, "Questions")
    heading(service, "4. Questions")
    await await_indexed(user, last)
    for question in questions:
        if talks:
            require(await recall(user, question), "nothing was recalled")
        if documents:
            require(await search(user, question), "no passage was found")
        await assemble(user, question, last)
    heading(service, "5. The end")
    await forget(user)


def _add(talks: dict[str, Talk], line: str, where: str) -> None:
    try:
        said: dict[str, Any] = json.loads(line)
        session, speaker, text = str(said["session_id"]), str(said["speaker"]), str(said["text"])
        external_id = "/".join(str(said[name]) for name in ("conversation_id", "session_id") if name in said)
        began = _moment(said.get("session_time"))
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"{where} isn't a turn with session_id, speaker and text") from error
    talk = talks.setdefault(session, Talk(external_id))
    message = {"role": "assistant" if speaker.lower() in ASSISTANTS else "user", "content": text}
    if message["role"] == "user" and speaker.lower() != "user":
        message["name"] = speaker
    if began is not None:
        message["created_at"] = (began + TURN * len(talk.messages)).isoformat()
    talk.messages.append(message)


def _moment(text: object) -> datetime | None:
    """Return a time that lies in the past: a conversation that is dated ahead happened now."""
    if text is None:
        return None
    moment = datetime.fromisoformat(str(text))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment if moment < datetime.now(UTC) - timedelta(days=1) else None


def _last_questions(talks: Sequence[Talk]) -> list[str]:
    said = [message["content"] for talk in talks for message in talk.messages if message["role"] == "user"]
    asked = [text for text in said if text.rstrip().endswith(("?", "？"))]
    return [text[:1_000] for text in (asked or said)[-2:]] or ["What are these documents about?"]
