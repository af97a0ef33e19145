"""How well recall finds in many kinds of record, through the API of a running service, beside two plain baselines.

    cairn up &
    .venv/bin/python tools/recall_kinds.py --data FOLDER [--base http://127.0.0.1:8000] [--only notes]

FOLDER holds development sets that don't come with the product (`recall_records.py` says which). R@k is the share of a
question's evidence that is among the first k hits. `bm25` is BM25 on the message's text, `dense` the cosine of the
embedder's vectors of message and question; both are computed here, of the same messages.
"""

import argparse
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from recall_records import Asked, Record, Said, records

from app.commands.environment import adopt_running
from app.commands.token import find_secret, make_token
from app.core import ranking
from app.core.text.terms import terms
from app.infra.embedders.use import UseEmbedder

KS = (1, 5, 10)
TENANT = "kinds"
SCOPES = "sessions memories"
TOKEN_LIFE_S = 6 * 3_600
BATCH = 50
BUSY = {429, 503}
MAX_TRIES = 60

Json = dict[str, Any]  # Any: JSON
Scores = list[list[float]]


class User:
    """One user of the service."""

    def __init__(self, base: str, sub: str) -> None:
        """Make a token for a new user."""
        token = make_token(find_secret(), sub, TENANT, None, SCOPES, TOKEN_LIFE_S)
        self._http = httpx.Client(base_url=base, timeout=120, headers={"Authorization": f"Bearer {token}"})

    def post(self, path: str, body: Json) -> Json:
        """Call until the service isn't busy."""
        for _ in range(MAX_TRIES):
            answer = self._http.post(path, json=body)
            if answer.status_code not in BUSY:
                break
            time.sleep(float(answer.headers.get("Retry-After", "1")))
        answer.raise_for_status()
        found: Json = answer.json()
        return found

    def store(self, said: Sequence[Said]) -> dict[str, str]:
        """Store the messages, and wait until all have vectors; return which id of the record each has."""
        ids: dict[str, str] = {}
        for _, part in groupby(sorted(said, key=lambda one: one.session), key=lambda one: one.session):
            mine = list(part)
            session = self.post("/v1/sessions", {})["id"]
            for start in range(0, len(mine), BATCH):
                some = mine[start : start + BATCH]
                stored = self.post(f"/v1/sessions/{session}/messages", {"messages": [_message(one) for one in some]})
                ids |= {kept["id"]: one.id for kept, one in zip(stored["messages"], some, strict=True)}
        while self.post("/v1/recall", {"query": "hello", "top_k": 1})["index"]["pending"]:
            time.sleep(1)
        return ids

    def recall(self, query: str) -> list[str]:
        """Return the ids of the messages that are found."""
        hits = self.post("/v1/recall", {"query": query, "top_k": max(KS)})["hits"]
        return [hit["message_id"] for hit in hits]


def _message(one: Said) -> Json:
    more = {"name": one.name, "created_at": one.at.isoformat() if one.at else None}
    return {"role": one.role, "content": one.text} | {name: value for name, value in more.items() if value}


def _at_k(found: Sequence[str], asked: Asked) -> list[float]:
    return [len(set(found[:k]) & asked.evidence) / len(asked.evidence) for k in KS]


def _by_words(record: Record) -> Iterator[list[float]]:
    said = [terms(one.text) for one in record.said]
    lengths = np.array([len(each) for each in said], np.float32)
    places: dict[str, Counter[int]] = defaultdict(Counter)
    for place, each in enumerate(said):
        for term in each:
            places[term][place] += 1
    for asked in record.asked:
        postings = [
            ranking.Posting(
                np.array(list(places[term]), np.intp), np.array(list(places[term].values()), np.float32), float(often)
            )
            for term, often in Counter(terms(asked.text)).items()
        ]
        yield _at_k(_best(record, ranking.bm25(postings, lengths)[0]), asked)


def _by_meaning(record: Record, embedder: UseEmbedder) -> Iterator[list[float]]:
    vectors = embedder.embed([one.text for one in record.said])
    for asked, vector in zip(record.asked, embedder.embed([asked.text for asked in record.asked]), strict=True):
        yield _at_k(_best(record, vectors @ vector), asked)


def _best(record: Record, scores: np.ndarray) -> list[str]:
    return [record.said[place].id for place in np.argsort(-scores, kind="stable")[: max(KS)]]


def _show(name: str, columns: Sequence[Scores]) -> None:
    figures = [" ".join(f"{figure:.3f}" for figure in np.mean(scores, axis=0)) for scores in columns]
    print(f"| {name} | {len(columns[0])} | {' | '.join(figures)} |", flush=True)


def main() -> None:
    """Measure, and print a table: R@1, R@5 and R@10 of the product, of BM25 and of the cosine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", default="http://127.0.0.1:8000")
    parser.add_argument("--only", default="", help="measure kinds whose name has this in it")
    wishes = parser.parse_args()
    adopt_running()
    embedder, run = UseEmbedder(), uuid.uuid4().hex[:8]
    print("| record | questions | product R@1 R@5 R@10 | bm25 | dense |\n|---|---|---|---|---|")
    chosen = (record for record in records(wishes.data) if wishes.only in record.name)
    for kind, group in groupby(chosen, key=lambda record: record.name.partition(" conv-")[0]):
        parts: list[str] = []
        columns: tuple[Scores, Scores, Scores] = ([], [], [])
        for number, record in enumerate(group):
            user = User(wishes.base, f"{kind} {number} {run}")
            ids = user.store(record.said)
            columns[0].extend(
                _at_k([ids.get(found, "") for found in user.recall(asked.text)], asked) for asked in record.asked
            )
            columns[1].extend(_by_words(record))
            columns[2].extend(_by_meaning(record, embedder))
            parts += [asked.part for asked in record.asked]
        _show(kind, columns)
        for part in sorted(set(parts)) if len(set(parts)) > 1 else ():
            _show(
                f"... {part}",
                [[one for one, of in zip(scores, parts, strict=True) if of == part] for scores in columns],
            )


if __name__ == "__main__":
    main()
