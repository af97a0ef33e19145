"""Somebody else's facts and messages as records of an archive. Ids are made of what tells one from others."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from app.core.ids import show

MEMORIES: Final = "memories.jsonl"
SESSIONS: Final = "sessions.jsonl"
MESSAGES: Final = "messages.jsonl"

# What a fact may hold (app/memories/model.py has it again: features don't meet).
MAX_FACT_CHARS: Final = 8_000
_TEXTS: Final = ("text", "memory", "content", "data", "value", "fact", "summary")
_ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
_DAY_S: Final = 24 * 3600
_WINDOW: Final = 20
_MAX_EXTERNAL_ID_CHARS: Final = 256
# Where a dump doesn't say when: what is the same at every time.
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)

Json = Mapping[str, Any]  # Any: JSON of somebody else's
Record = dict[str, object]
Records = dict[str, list[Record]]


def facts(key: str, text: object, metadata: Json, item: Json) -> list[Record]:
    """Return a fact at its only version: several where the text is too long for one. `key` is what tells it from
    others, `item` what says its times.
    """
    said_at = _time(item, "created_at", "createdAt")
    # Where nobody says when, it is known since now; its id is the same at every time.
    created_at, known_as = said_at or datetime.now(UTC), said_at or _NO_TIME
    at = _time(item, "updated_at", "updatedAt") or created_at
    pieces: list[object] = [*_pieces(text)] if isinstance(text, str) else [text]
    return [
        {
            "id": show("mem", _id("fact", key if not place else f"{place} {key}", known_as)),
            "created_at": created_at.isoformat(),
            "version": 1,
            "state": "kept",
            "text": piece,
            "metadata": dict(metadata),
            "trust": "imported",
            "source": "imported",
            "confidence": None,
            "evidence": None,
            "expires_at": None,
            "written_by": "user",
            "written_through": None,
            "written_at": max(at, created_at).isoformat(),
        }
        for place, piece in enumerate(pieces)
    ]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text whole, or in pieces that a fact may hold, cut between lines or sentences where that can be."""
    left = text.strip()
    while len(left) > MAX_FACT_CHARS:
        cuts = [left.rfind(mark, MAX_FACT_CHARS // 2, MAX_FACT_CHARS) for mark in ("\n", "。", ". ", " ")]
        cut = next((found + 1 for found in cuts if found >= 0), MAX_FACT_CHARS)
        yield left[:cut].strip()
        left = left[cut:].strip()
    if left or not text:
        yield left


def session(key: str, title: str | None) -> Record:
    """Return a session to put messages into. `key` is what tells it from others."""
    at = datetime.now(UTC).isoformat()
    return {
        "id": show("ses", _id("session", key, _NO_TIME)),
        "agent": None,
        "external_id": f"import {key}"[:_MAX_EXTERNAL_ID_CHARS],
        "title": title,
        "metadata": {},
        "window": _WINDOW,
        "ttl_seconds": _DAY_S,
        "message_count": 0,
        "summary": {"text": "", "constraints": [], "constraints_omitted": 0, "covers_seq": 0},
        "pinned": False,
        "version": 1,
        "created_at": at,
        "last_active_at": at,
        "expires_at": at,
    }


def message(each: Any, of_session: str, number: int) -> Record:  # noqa: ANN401 - JSON of somebody else's
    """Return a message of the session with that key, at its number."""
    role, content = each["role"], content_of(each.get("content", each.get("text")))
    at = (_time(each, "created_at", "createdAt", "date") or datetime.now(UTC)).isoformat()
    return {
        "id": show("msg", _id("message", f"{of_session} {number} {role} {content}", _NO_TIME)),
        "session_id": show("ses", _id("session", of_session, _NO_TIME)),
        "seq": number,
        "role": role,
        "content": content,
        "name": each.get("name") or None,
        "tool_calls": (each.get("tool_calls") or None) if role == "assistant" else None,
        "tool_call_id": (each.get("tool_call_id") or None) if role == "tool" else None,
        "metadata": object_of(each.get("metadata")),
        "constraints": [],
        "created_at": at,
        "stored_at": at,
        "context_id": None,
    }


def is_message(each: object) -> bool:
    """Say whether it is a message, as model providers have them."""
    return isinstance(each, dict) and each.get("role") in _ROLES and ("content" in each or "text" in each)


def letta_turn(each: Json) -> Json | None:
    """Return a message of an agent file as somebody said it; None for the agent's prompt, and for what its server says
    to it: that the user came, that time has passed.
    """
    if each.get("role") == "system" or not is_message(each):
        return None
    text = content_of(each.get("content", each.get("text")))
    try:
        packed = json.loads(text) if isinstance(text, str) and text.startswith("{") else None
    except (ValueError, RecursionError):
        packed = None
    if each["role"] != "user" or not isinstance(packed, dict) or "type" not in packed:
        return each
    if packed["type"] != "user_message" or not isinstance(packed.get("message"), str):
        return None
    return {**each, "content": packed["message"]}


def content_of(content: object) -> object:
    """Return the text of a message: of several blocks, those that are text."""
    if not isinstance(content, list):
        return content
    texts = [each.get("text") for each in content if isinstance(each, dict)]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def said(value: object) -> str | None:
    """Return what a value says in words, where it does."""
    if isinstance(value, dict):
        return next((value[name] for name in _TEXTS if isinstance(value.get(name), str)), None)
    return value if isinstance(value, str) else None


def object_of(value: object) -> dict[str, Any]:
    """Return a JSON object as it is, an empty one for anything else."""
    return dict(value) if isinstance(value, dict) else {}


def named(item: Json, *names: str) -> dict[str, Any]:
    """Return those of the fields that are there and say something."""
    return {name: item[name] for name in names if item.get(name)}


def _time(item: Json, *names: str) -> datetime | None:
    """Return the first of the fields that is a time of ISO 8601; one without a zone is of UTC."""
    for name in names:
        value = item.get(name)
        if not isinstance(value, str):
            continue
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _id(kind: str, key: str, at: datetime) -> UUID:
    """Return an id for what has none of ours: a UUID of version 7 with its time."""
    millis = max(0, int(at.timestamp() * 1000)) & 0xFFFFFFFFFFFF
    rest = hashlib.sha256(f"{kind} {key}".encode("utf-8", "surrogatepass")).digest()[:10]
    value = int.from_bytes(millis.to_bytes(6) + rest)
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)
