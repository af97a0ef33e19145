"""The kinds of record that recall must hold on, made of development data that doesn't come with the product.

Each is a list of messages and a list of questions whose evidence is some of them. What a folder lacks leaves its kinds
out. `recall_facts.jsonl` is the product's own: sixty facts, each in English and Chinese, each asked in both.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

from app.core.text.sentences import sentences

FACTS = Path(__file__).with_name("recall_facts.jsonl")
SEED = 7
MAX_QUESTIONS = 300
MAX_DOCUMENTS = 300
# What is embedded of a text whose end nobody looks at.
FRONT_CHARS = 500
PASSAGES_A_MESSAGE = 3
NOTES_A_DAY = 10
NOISE = 540
NOISE_CHARS = 300
MIN_SENTENCE_CHARS = 8
FIRST_DAY = datetime(2024, 3, 1, 9, tzinfo=UTC)
ACKNOWLEDGED = {"en": "Noted.", "zh": "好的，记下了。"}
WISH = {"en": "Tell me about {}.", "zh": "讲讲{}吧。"}
IN_PASSING = {"en": "{} By the way, what can you tell me about {}?", "zh": "{}对了，给我讲讲{}吧。"}

Json = dict[str, Any]  # Any: JSON


@dataclass(frozen=True)
class Said:
    """A message to be stored."""

    id: str
    session: str
    text: str
    role: str = "user"
    name: str | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class Asked:
    """A question, the ids of the messages that answer it, and the part of the figures that it counts in."""

    text: str
    evidence: frozenset[str]
    part: str = ""


@dataclass
class Record:
    """One user's record, and what is asked of it."""

    name: str
    said: list[Said] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def add(self, session: str, text: str, role: str = "user", at: datetime | None = None) -> str:
        """Add a message and return its id."""
        self.said.append(Said(f"m{len(self.said)}", session, text, role, at=at))
        return self.said[-1].id


def records(data: Path) -> Iterator[Record]:
    """Yield every kind of record that the folder has data for."""
    yield from _conversations(data / "locomo_dev")
    for lang in ("en", "zh"):
        documents = _documents(data, lang)
        if documents:
            yield _sentences_as_notes(lang, *documents)
            yield _long_answers(f"long answers, {lang}", lang, *documents)
            yield _facts_in_long_chats(lang, documents[0])
        noise = _noise(data, lang)
        if noise:
            yield _facts_as_notes(f"daily notes, {lang}", [lang], noise)
            yield _facts_as_notes(f"acknowledged notes, {lang}", [lang], noise, acknowledged=True)
    if (cmrc := data / "cmrc_dev").exists():
        yield _long_answers("long answers, zh, CMRC", "zh", _rows(cmrc / "docs.jsonl"), _rows(cmrc / "questions.jsonl"))
    yield from _two_languages(data)


def _rows(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def _documents(data: Path, lang: str) -> tuple[list[Json], list[Json]] | None:
    folder = data / f"xquad_{lang}_dev"
    return (_rows(folder / "docs.jsonl"), _rows(folder / "questions.jsonl")) if folder.exists() else None


def _noise(data: Path, lang: str) -> list[str]:
    path = data / ("prefeval_dev" if lang == "en" else "kvpi_dev") / "items.jsonl"
    texts = [row["text"].strip() for row in _rows(path)] if path.exists() else []
    fitting = [text for text in dict.fromkeys(texts) if MIN_SENTENCE_CHARS <= len(text) <= NOISE_CHARS]
    return _sample(fitting, NOISE)


def _sample(items: Sequence[Any], most: int) -> list[Any]:  # Any: whatever is sampled
    rng = random.Random(SEED)  # noqa: S311 - the same sample each time
    return list(items) if len(items) <= most else rng.sample(items, most)


def _conversations(folder: Path) -> Iterator[Record]:
    """Yield talks of two people over months: one turn is one message, sessions have dates, speakers have names."""
    if not folder.exists():
        return
    turns, questions = _rows(folder / "turns.jsonl"), _rows(folder / "questions.jsonl")
    for talk in dict.fromkeys(turn["conversation_id"] for turn in turns):
        record = Record(f"conversation {talk}")
        mine = [turn for turn in turns if turn["conversation_id"] == talk]
        for turn in mine:
            at = datetime.strptime(turn["session_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            role = "user" if turn["speaker"] == mine[0]["speaker"] else "assistant"
            record.said.append(
                Said(turn["turn_id"], turn["session_id"], turn["text"] or " ", role, turn["speaker"], at)
            )
        record.asked = [
            Asked(question["question"], frozenset(question["evidence_turn_ids"]))
            for question in questions
            if question["conversation_id"] == talk and question["evidence_turn_ids"]
        ]
        yield record


def _sentences_as_notes(lang: str, documents: Sequence[Json], questions: Sequence[Json]) -> Record:
    """Return notes of one sentence each, a session an article; the one with the answer is the evidence."""
    record = Record(f"sentences as notes, {lang}")
    ids: dict[str, list[tuple[str, str]]] = {}
    for document in documents:
        for start, end in sentences(document["text"]):
            text = document["text"][start:end].strip()
            if len(text) >= MIN_SENTENCE_CHARS:
                ids.setdefault(document["doc_id"], []).append((record.add(document["title"], text), text))
    for question in _sample(questions, MAX_QUESTIONS):
        held = [one for doc in question["evidence_doc_ids"] for one in ids[doc] if question["answers"][0] in one[1]]
        if held:
            record.asked.append(Asked(question["question"], frozenset(note for note, _ in held)))
    return record


def _long_answers(name: str, lang: str, documents: Sequence[Json], questions: Sequence[Json]) -> Record:
    """Return an assistant's answers of some passages each: what stands past their front is to be found as well."""
    record = Record(name)
    held: dict[str, tuple[str, int]] = {}
    some = documents[:MAX_DOCUMENTS]
    for first in range(0, len(some), PASSAGES_A_MESSAGE):
        together = some[first : first + PASSAGES_A_MESSAGE]
        session = together[0]["title"]
        record.add(session, WISH[lang].format(session.replace("_", " ")))
        answer = record.add(session, "\n\n".join(document["text"] for document in together), "assistant")
        at = 0
        for document in together:
            held[document["doc_id"]] = (answer, at)
            at += len(document["text"]) + 2
    texts = {document["doc_id"]: document["text"] for document in documents}
    fitting = [question for question in questions if question["evidence_doc_ids"][0] in held]
    for question in _sample(fitting, MAX_QUESTIONS):
        document = question["evidence_doc_ids"][0]
        answer, at = held[document]
        at += max(texts[document].find(question["answers"][0]), 0)
        part = "front" if at < FRONT_CHARS else "past the front"
        record.asked.append(Asked(question["question"], frozenset({answer}), part))
    return record


def _facts_in_long_chats(lang: str, documents: Sequence[Json]) -> Record:
    """Return chats in which an assistant explains at length, and the user says something of themselves in passing."""
    record = Record(f"said in long chats, {lang}")
    passages = cycle(documents)
    for day, fact in enumerate(_rows(FACTS)):
        session, at = f"chat {day // 3}", FIRST_DAY + timedelta(days=day // 3)
        for turn in range(3):
            passage = next(passages)
            topic = passage["title"].replace("_", " ")
            asks = WISH[lang].format(topic) if turn != 1 else IN_PASSING[lang].format(fact[lang], topic)
            said = record.add(session, asks, at=at)
            if turn == 1:
                record.asked.append(Asked(fact[f"ask_{lang}"], frozenset({said})))
            record.add(session, passage["text"], "assistant", at)
    return record


def _facts_as_notes(name: str, langs: Sequence[str], noise: Sequence[str], *, acknowledged: bool = False) -> Record:
    """Return days of notes, most of no consequence. With two languages facts take turns, and are asked in both."""
    record = Record(name)
    facts = _rows(FACTS)
    notes: list[tuple[str, int | None]] = [(text, None) for text in noise]
    notes += [(fact[langs[number % len(langs)]], number) for number, fact in enumerate(facts)]
    random.Random(SEED).shuffle(notes)  # noqa: S311 - the same order each time
    for place, (text, number) in enumerate(notes):
        day = place // NOTES_A_DAY
        at = FIRST_DAY + timedelta(days=day)
        note = record.add(f"day {day}", text, at=at)
        if acknowledged:
            record.add(f"day {day}", ACKNOWLEDGED[langs[0]], "assistant", at)
        if number is not None:
            lang = langs[number % len(langs)]
            for asks in langs:
                part = "" if len(langs) == 1 else f"{asks} asks for {lang}"
                record.asked.append(Asked(facts[number][f"ask_{asks}"], frozenset({note}), part))
    return record


def _two_languages(data: Path) -> Iterator[Record]:
    """Yield stores of English and Chinese: passages, every other one in the other language, and notes."""
    english, chinese = _documents(data, "en"), _documents(data, "zh")
    if english and chinese:
        record = Record("passages in two languages")
        ids: dict[str, tuple[str, str]] = {}
        for number, (en, zh) in enumerate(zip(english[0], chinese[0], strict=True)):
            lang, document = ("en", en) if number % 2 else ("zh", zh)
            ids[en["doc_id"]] = (record.add(en["title"], document["text"]), lang)
        for asks, questions in (("en", english[1]), ("zh", chinese[1])):
            for question in _sample(questions, MAX_QUESTIONS):
                passage, lang = ids[question["evidence_doc_ids"][0]]
                record.asked.append(Asked(question["question"], frozenset({passage}), f"{asks} asks for {lang}"))
        yield record
    noise = [text for pair in zip(_noise(data, "en"), _noise(data, "zh"), strict=False) for text in pair]
    if noise:
        yield _facts_as_notes("daily notes in two languages", ["en", "zh"], noise)
