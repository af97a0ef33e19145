"""How well questions in one language find documents in the other, through the API of a running service.

    cairn up &
    .venv/bin/python tools/cross_language.py --data FOLDER [--base http://127.0.0.1:8000]

FOLDER holds xquad_en_dev and xquad_zh_dev: the same passages, and the same questions, in English and Chinese. They
don't come with the product. Each user has the passages of one language (or of both), and asks in the other: only
meaning can help. R@k is the share of questions whose passage is among the first k documents.
"""

import argparse
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from app.commands.environment import adopt_running
from app.commands.token import find_secret, make_token

KS = (1, 3, 10)
TOP_K = 20
LANGUAGES = ("en", "zh")
MODES = ("hybrid", "dense", "lexical")
BUSY = {429, 503}
MAX_TRIES = 60
TOKEN_LIFE_S = 6 * 3_600

Json = dict[str, Any]  # Any: JSON


class User:
    """One user of the service."""

    def __init__(self, base: str) -> None:
        """Make a token for a new user."""
        sub = f"languages-{uuid.uuid4().hex[:8]}"
        token = make_token(find_secret(), sub, "languages", None, "knowledge", TOKEN_LIFE_S)
        self._http = httpx.Client(base_url=base, timeout=120, headers={"Authorization": f"Bearer {token}"})
        self.documents: dict[str, str] = {}

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

    def give(self, passages: Sequence[Json], language: str) -> None:
        """Upload passages, and wait until all are searched."""
        for each in passages:
            made = self.post("/v1/knowledge/documents", {"text": each["text"], "doc_type": "note", "title": language})
            self.documents[made["id"]] = f"{language} {each['doc_id']}"
        while self.search("hello", "lexical")["index"]["pending"]:
            time.sleep(1)

    def search(self, question: str, mode: str) -> Json:
        """Ask for passages."""
        return self.post("/v1/knowledge/search", {"query": question, "top_k": TOP_K, "mode": mode})

    def found(self, question: str, mode: str) -> list[str]:
        """Return the documents that are found, each once, best first."""
        hits = self.search(question, mode)["hits"]
        return list(dict.fromkeys(self.documents[hit["document_id"]] for hit in hits))


def main() -> None:
    """Give, ask and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", default="http://127.0.0.1:8000")
    parser.add_argument("--limit", type=int, default=None, help="Questions of each language.")
    asked = parser.parse_args()
    adopt_running()
    passages = {language: _rows(asked.data / f"xquad_{language}_dev" / "docs.jsonl") for language in LANGUAGES}
    questions = {
        language: _rows(asked.data / f"xquad_{language}_dev" / "questions.jsonl")[: asked.limit]
        for language in LANGUAGES
    }
    print(f"| documents | questions | number | {' | '.join(f'R@1/3/10 {mode}' for mode in MODES)} |")
    print("|---" * (3 + len(MODES)) + "|")
    for given in (("zh",), ("en",), LANGUAGES):
        user = User(asked.base)
        for language in given:
            user.give(passages[language], language)
        for language in LANGUAGES:
            # In a store of both the question's own language has the answer too: the other one is looked for.
            other = "zh" if language == "en" else "en"
            if other in given:
                _tell(user, questions[language], given, language, other)


def _tell(user: User, questions: Sequence[Json], given: Sequence[str], language: str, other: str) -> None:
    shown = [f"{' and '.join(given)}", f"{language} for {other}", str(len(questions))]
    for mode in MODES:
        recall = _recall(user, questions, mode, other)
        shown.append(" / ".join(f"{recall[k]:.3f}" for k in KS))
    print(f"| {' | '.join(shown)} |", flush=True)


def _recall(user: User, questions: Sequence[Json], mode: str, other: str) -> Mapping[int, float]:
    right = dict.fromkeys(KS, 0.0)
    for each in questions:
        found = user.found(each["question"], mode)
        evidence = {f"{other} {one}" for one in each["evidence_doc_ids"]}
        for k in KS:
            right[k] += len(evidence & set(found[:k])) / len(evidence)
    return {k: right[k] / len(questions) for k in KS}


def _rows(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
