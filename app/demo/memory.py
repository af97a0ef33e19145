"""What an agent does with the memory of its user: steps that the story and a real conversation are both made of."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from app.demo.visitor import UnexpectedError, Visitor, require, shortened

WAIT_S: Final = 20
READY_WITHIN_S: Final = 300
INDEXED_WITHIN_S: Final = 300
POLL_S: Final = 0.5
BATCH_MESSAGES: Final = 100
BUDGET_TOKENS: Final = 700
CONTEXT_TRIES: Final = 6
TOP: Final = 3
SHOWN_CHARS: Final = 110

# A message, hit, document or context, as JSON has it.
Json = Mapping[str, Any]


async def open_session(user: Visitor, title: str, external_id: str | None = None) -> str:
    """Open a session and return its id."""
    body = {"title": title} | ({"external_id": external_id} if external_id else {})
    answer = await user.call("POST", "/v1/sessions", (200, 201), json=body)
    return str(answer.json()["id"])


async def append(user: Visitor, session_id: str, messages: Sequence[Json]) -> list[str]:
    """Append messages in batches; return their ids in order. Done again, it is the same requests with the same keys."""
    ids: list[str] = []
    for start in range(0, len(messages), BATCH_MESSAGES):
        batch = messages[start : start + BATCH_MESSAGES]
        answer = await user.call(
            "POST",
            f"/v1/sessions/{session_id}/messages",
            201,
            headers={"Idempotency-Key": f"{session_id}-{start}"},
            json={"messages": batch},
        )
        stored = answer.json()["messages"]
        require(len(stored) == len(batch), f"{len(batch)} messages were sent, {len(stored)} stored")
        ids += [message["id"] for message in stored]
        if "Idempotent-Replayed" in answer.headers:
            user.tell("The same request once more, under its idempotency key: the first answer again, stored once.")
        else:
            user.tell(f"{len(stored)} messages are kept, numbered {stored[0]['seq']} to {stored[-1]['seq']}.")
    return ids


async def add_text(user: Visitor, title: str, doc_type: str, text: str) -> str:
    """Give the service a text and return the document's id."""
    body = {"title": title, "doc_type": doc_type, "text": text}
    answer = await user.call("POST", "/v1/knowledge/documents", 202, json=body)
    return str(answer.json()["id"])


async def add_file(user: Visitor, path: Path, doc_type: str) -> str:
    """Give the service a file and return the document's id."""
    fields = {"title": path.stem[:200], "doc_type": doc_type}
    with path.open("rb") as opened:
        files = {"file": (path.name, opened.read())}
    answer = await user.call("POST", "/v1/knowledge/uploads", 202, data=fields, files=files)
    return str(answer.json()["id"])


async def await_ready(user: Visitor, document_id: str) -> Json:
    """Wait until the worker has read the document. Raises UnexpectedError where it fails or takes too long."""
    began = time.monotonic()
    while time.monotonic() - began < READY_WITHIN_S:
        path = f"/v1/knowledge/documents/{document_id}/events?wait_s={WAIT_S}"
        document: Json = (await user.call("GET", path, 200)).json()
        if document["status"] == "ready":
            user.tell(f"Ready after {time.monotonic() - began:.1f} s, {document['size_bytes']} bytes.")
            return document
        if document["status"] == "failed":
            raise UnexpectedError(f"a document failed: {document['reason']}")
    raise UnexpectedError(f"a document wasn't ready after {READY_WITHIN_S} s: does a worker run?")


async def search(user: Visitor, question: str) -> Sequence[Json]:
    """Search the documents and show the best passage."""
    answer = await user.call("POST", "/v1/knowledge/search", 200, json={"query": question, "top_k": TOP})
    hits: Sequence[Json] = answer.json()["hits"]
    user.tell(f"“{question}”")
    for hit in hits[:1]:
        headings = " / ".join(hit["location"]["headings"])
        user.tell(f"{hit['score']:.2f}  {hit['title']}{', ' + headings if headings else ''}: {brief(hit['text'])}")
    return hits


async def await_indexed(user: Visitor, session_id: str) -> None:
    """Wait until the worker has given all messages their vectors; until then they are found by their words alone."""
    began = time.monotonic()
    body = {"query": "anything", "top_k": 1, "session_id": session_id}
    answer = await user.call("POST", "/v1/recall", 200, json=body)
    pending = answer.json()["index"]["pending"]
    while pending:
        require(time.monotonic() - began < INDEXED_WITHIN_S, f"{pending} messages still wait: does a worker run?")
        await asyncio.sleep(POLL_S)
        answer = await user.quiet("POST", "/v1/recall", json=body)
        pending = answer.json()["index"]["pending"]
    user.tell(f"All messages have their vectors after {time.monotonic() - began:.1f} s.")


async def recall(user: Visitor, question: str, session_id: str | None = None) -> Sequence[Json]:
    """Look for what was said, and show the best of it."""
    body = {"query": question, "top_k": TOP} | ({"session_id": session_id} if session_id else {})
    hits: Sequence[Json] = (await user.call("POST", "/v1/recall", 200, json=body)).json()["hits"]
    user.tell(f"“{question}”")
    for hit in hits:
        user.tell(f"{hit['score']:.2f}  {hit['role']}, {hit['created_at'][:10]}: {brief(hit['text'])}")
    return hits


async def assemble(user: Visitor, question: str, session_id: str) -> Json:
    """Ask for the context of one turn; show the prompt and why each memory is in it or not."""
    context = await _complete(user, {"query": question, "session_id": session_id, "budget_tokens": BUDGET_TOKENS})
    usage = context["usage"]
    parts = ", ".join(f"{kind} {tokens}" for kind, tokens in usage.items() if kind != "total")
    user.tell(f"“{question}”")
    user.tell(f"{usage['total']} of {BUDGET_TOKENS} tokens: {parts}")
    require(usage["total"] <= BUDGET_TOKENS, f"the prompt has {usage['total']} tokens")
    for line in context["prompt"].splitlines():
        user.tell(f"| {shortened(line)}")
    ignored = [decision for decision in context["decisions"] if not decision["loaded"]]
    for decision in ignored:
        user.tell(f"left out: {decision['kind']} {shortened(decision['id'])}: {decision['reason']}")
    return context


async def _complete(user: Visitor, body: Json) -> Json:
    """Return a context that lacks nothing. On a busy machine a source may miss the deadline: then it is asked again."""
    for _ in range(CONTEXT_TRIES):
        context: Json = (await user.call("POST", "/v1/context", 200, json=body)).json()
        if context["complete"]:
            return context
        user.tell(f"Late, and left out: {', '.join(context['missing'])}. The answer says so; once more.")
        await asyncio.sleep(POLL_S)
    raise UnexpectedError(f"{CONTEXT_TRIES} contexts weren't complete")


def has(texts: Iterable[str], words: str) -> bool:
    """Say whether one of the texts holds these words."""
    return any(words in text for text in texts)


def brief(text: str) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"
