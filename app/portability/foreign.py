"""What people come from: dumps of mem0, Letta and LangGraph, and lines of JSON, as the records that an import takes.

What is in them is told as imported: nobody knows whose word it was. Each becomes the same ids whenever it is read, so
that it is taken once.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from app.portability.model import PART_BYTES, Failure, Source, UnreadableError
from app.portability.translating import (
    MEMORIES,
    MESSAGES,
    SESSIONS,
    Json,
    Record,
    Records,
    facts,
    is_message,
    letta_turn,
    message,
    named,
    object_of,
    said,
    session,
)
from app.portability.unzipping import MAX_LINE_BYTES, Fetch

# A dump that is one JSON document is read at once; a larger one can be sent as lines.
MAX_DOCUMENT_BYTES: Final = 16 * 1024 * 1024


class Translated:
    """Records that a dump was translated to. A Lines of app.portability.unzipping."""

    def __init__(self, records: Records, left_out: Mapping[str, int] | None = None) -> None:
        """Take the records by file, and how many weren't translated, of what."""
        self._records = records
        self.left_out = dict(left_out or {})

    def lines(self, file: str, after: int) -> Iterator[tuple[int, bytes | None]]:
        """Yield the records of a file as lines."""
        for number, record in enumerate(self._records.get(file, []), 1):
            if number > after:
                line = json.dumps(record).encode()
                yield number, line if len(line) <= MAX_LINE_BYTES else None

    def parts(self, _: str) -> Iterator[bytes] | None:
        """Say that there are no files."""
        return None


class PlainLines:
    """Lines of JSON, read as they come. A Lines of app.portability.unzipping."""

    def __init__(self, size_bytes: int, fetch: Fetch) -> None:
        """Take how large all is, and what gives the parts."""
        self._size_bytes = size_bytes
        self._fetch = fetch
        self.left_out: dict[str, int] = {}

    def lines(self, file: str, after: int) -> Iterator[tuple[int, bytes | None]]:
        """Yield what is a record of the file, under the number of the line that it stands in."""
        key = _key(next((each for _, each in self._objects() if is_message(each)), None))
        if file == SESSIONS:
            if after < 1 and key is not None:
                yield 1, json.dumps(session(key, None)).encode()
            return
        for number, each in self._objects():
            if number <= after:
                continue
            if file == MESSAGES and key is not None and is_message(each):
                yield number, json.dumps(message(each, key, number)).encode()
            elif file == MEMORIES and not is_message(each):
                for record in _plain_facts(each):
                    yield number, json.dumps(record).encode()

    def parts(self, _: str) -> Iterator[bytes] | None:
        """Say that there are no files."""
        return None

    def has_json(self) -> bool:
        """Say whether a line of it is JSON."""
        return any(each is not None for _, each in self._objects())

    def _objects(self) -> Iterator[tuple[int, object]]:
        """Yield what the lines hold; None for one that isn't JSON."""
        for number, line in enumerate(self._lines(), 1):
            if line.strip():
                yield number, _parsed(line)

    def _lines(self) -> Iterator[bytes]:
        held = b""
        for ordinal in range(-(-self._size_bytes // PART_BYTES)):
            *lines, held = (held + self._fetch(ordinal)).split(b"\n")
            yield from lines
            if len(held) > MAX_LINE_BYTES:
                raise UnreadableError(Failure.TOO_LARGE_AT_ONCE)
        if held:
            yield held


def opened(source: Source | None, size_bytes: int, fetch: Fetch) -> tuple[Source, Translated | PlainLines]:
    """Return what somebody else's dump comes from, and what it says. Blocks. Raises UnreadableError."""
    document = None if source is Source.JSONL or size_bytes > MAX_DOCUMENT_BYTES else _document(size_bytes, fetch)
    if document is None:
        if source not in {None, Source.JSONL}:
            raise UnreadableError(Failure.MALFORMED if size_bytes <= MAX_DOCUMENT_BYTES else Failure.TOO_LARGE_AT_ONCE)
        lines = PlainLines(size_bytes, fetch)
        if source is None and not lines.has_json():
            raise UnreadableError(Failure.UNRECOGNISED)
        return Source.JSONL, lines
    found = source or _recognised(document)
    if found is None:
        raise UnreadableError(Failure.UNRECOGNISED)
    try:
        return found, _TRANSLATORS[found](document)
    except (TypeError, AttributeError, KeyError, ValueError, RecursionError):
        raise UnreadableError(Failure.MALFORMED) from None


def _document(size_bytes: int, fetch: Fetch) -> object:
    """Return the dump where it is one JSON document, None where it isn't: it may be lines."""
    return _parsed(b"".join(fetch(ordinal) for ordinal in range(-(-size_bytes // PART_BYTES))))


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _recognised(document: object) -> Source | None:
    if isinstance(document, dict) and {"agents", "core_memory", "agent_type"} & document.keys():
        return Source.LETTA
    items = _items(document)
    first = items[0] if items else None
    if isinstance(first, dict) and {"namespace", "key", "value"} <= first.keys():
        return Source.LANGGRAPH
    if (isinstance(document, dict) and "results" in document) or (isinstance(first, dict) and "memory" in first):
        return Source.MEM0
    return Source.JSONL if isinstance(document, dict | list) else None


def _items(document: object) -> Sequence[Json]:
    """Return the items of a dump: a list, or what a page of an answer holds them under."""
    if isinstance(document, dict):
        document = next((document[name] for name in ("results", "items", "memories") if name in document), [document])
    return document if isinstance(document, list) else []


def _mem0(document: object) -> Translated:
    """Take the answer to `get_all`: `results` (or a bare list) of {id, memory, metadata, created_at, updated_at...}."""
    found: list[Record] = []
    for item in _items(document):
        metadata = object_of(item.get("metadata")) | named(item, "categories", "agent_id", "run_id", "app_id")
        found += facts(str(item.get("id") or item["memory"]), item["memory"], metadata, item)
    return Translated({MEMORIES: found})


def _langgraph(document: object) -> Translated:
    """Take items of a store: {namespace, key, value, created_at, updated_at}. A value's text is what it says."""
    found: list[Record] = []
    for item in _items(document):
        namespace, key, value = item["namespace"], str(item["key"]), item["value"]
        path = namespace if isinstance(namespace, list) else str(namespace).split(".")
        text = said(value)
        rest = {name: each for name, each in object_of(value).items() if each != text}
        metadata = {"namespace": path, "key": key} | ({"value": rest} if rest and text is not None else {})
        shown = text if text is not None else json.dumps(value, ensure_ascii=False)
        found += facts(json.dumps([path, key]), shown, metadata, item)
    return Translated({MEMORIES: found})


def _letta(document: object) -> Translated:
    """Take an agent file: blocks and passages are facts, messages a session for each agent. What makes the agent
    (prompts, tools, models, and the block of its persona) is nobody's memory.

    Ids in such a file are numbers that begin anew in each: what tells one thing from another is what it says.
    """
    if not isinstance(document, dict):
        raise TypeError
    agents = _all(document, "agents") or [document]
    blocks = [*_all(document, "blocks"), *_of_each(agents, "core_memory")]
    own = [block for block in blocks if block.get("label") == "persona"]
    found: list[Record] = []
    for block in blocks:
        if block not in own:
            found += facts(f"{block.get('label')}: {block['value']}", block["value"], named(block, "label"), block)
    passages = [*_all(document, "passages"), *(_of_each(agents, "passages") if "agents" in document else ())]
    for passage in passages:
        metadata = object_of(passage.get("metadata") or passage.get("metadata_"))
        found += facts(f"passage: {passage['text']}", passage["text"], metadata, passage)
    records: Records = {MEMORIES: found, SESSIONS: [], MESSAGES: []}
    prompts = 0
    for agent in agents:
        messages = _all(agent, "messages")
        spoken = [turn for each in messages if (turn := letta_turn(each)) is not None]
        prompts += len(messages) - len(spoken)
        key = _key(spoken[0] if spoken else None)
        if key is not None:
            records[SESSIONS].append(session(key, str(agent.get("name") or "") or None))
            records[MESSAGES] += [message(each, key, number) for number, each in enumerate(spoken, 1)]
    return Translated(records, {"persona": len(own), "tools": len(_all(document, "tools")), "prompts": prompts})


def _plain(document: object) -> Translated:
    """Take a list of facts and messages that is one document."""
    items = list(enumerate(_items(document), 1))
    key = _key(next((each for _, each in items if is_message(each)), None))
    found = [record for _, each in items if not is_message(each) for record in _plain_facts(each)]
    if key is None:
        return Translated({MEMORIES: found})
    messages = [message(each, key, number) for number, each in items if is_message(each)]
    return Translated({MEMORIES: found, SESSIONS: [session(key, None)], MESSAGES: messages})


def _key(first: object) -> str | None:
    """Return what tells a session of messages that stand alone from others: its first message; None without one."""
    if first is None:
        return None
    return f"lines {hashlib.sha256(json.dumps(first, sort_keys=True).encode()).hexdigest()[:32]}"


_TRANSLATORS: Final[Mapping[Source, Callable[[object], Translated]]] = {
    Source.MEM0: _mem0,
    Source.LETTA: _letta,
    Source.LANGGRAPH: _langgraph,
    Source.JSONL: _plain,
}


def _plain_facts(each: object) -> Sequence[Record]:
    """Return a fact; of what isn't one a record that is refused."""
    fields, text = object_of(each), said(each)
    return facts(str(fields.get("id") or text), text, object_of(fields.get("metadata")), fields)


def _all(holder: Json, name: str) -> Sequence[Json]:
    found = holder.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _of_each(holders: Sequence[Json], name: str) -> Sequence[Json]:
    return [each for holder in holders for each in _all(holder, name)]
