"""Train the writer's model, and say how well it tells.

    python tools/train_writer.py --data FOLDER [--write]

FOLDER holds kvpi_dev, crosswoz_dev and statements_dev, a folder each with items.jsonl. What may train what ships is
named below, and nothing else is read for it. Without `--write` it only cross-validates: messages of one conversation
stay on one side, and what was made of parts is trained with and never counted.
"""

import argparse
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from writer_sentences import sentences

from app.infra.extractors.linear import BUCKETS, WEIGHTS, Linear, features
from app.infra.extractors.reading import THRESHOLD
from app.infra.extractors.reading import read as read_message

# Apache-2.0, Apache-2.0, and the project's own.
SOURCES = {"kvpi_dev": "id", "crosswoz_dev": "conversation_id", "statements_dev": "id"}
MADE = 300
SEED = 7
FOLDS = 5
ROUNDS = 200
RATE = 0.1
DECAY = 3e-5
NEAR = (THRESHOLD - 0.05, THRESHOLD, THRESHOLD + 0.05)
LEVELS = 127  # a weight is a byte


@dataclass(frozen=True)
class Example:
    """A message, whether it states something, where it is from and which fold it is tested in (none: never)."""

    text: str
    label: int
    source: str
    fold: int | None


def main() -> None:
    """Read, cross-validate, train on everything, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    examples = [example for source in SOURCES for example in read(args.data, source)]
    made = [Example(text, label, "made", None) for text, label in sentences(SEED, MADE)]
    scores: dict[str, list[tuple[int, float]]] = {source: [] for source in SOURCES}
    shipped: dict[str, list[tuple[int, float]]] = {source: [] for source in SOURCES}
    for fold in range(FOLDS):
        model = fit([*(each for each in examples if each.fold != fold), *made])
        for each in examples:
            if each.fold == fold:
                scores[each.source].append((each.label, model.score(each.text)))
                shipped[each.source].append((each.label, float(bool(read_message(each.text, model)))))
    for source, pairs in scores.items():
        print(source, *(f"{at:.2f}: {prf(pairs, at)}" for at in NEAR), sep="  ")
    for source, pairs in shipped.items():
        print(source, f"with the rules, as it ships: {prf(pairs, 1)}", sep="  ")
    if args.write:
        save(fit([*examples, *made]), WEIGHTS)
        print(f"wrote {WEIGHTS.name}, {WEIGHTS.stat().st_size} bytes")


def read(folder: Path, source: str) -> list[Example]:
    """Read one data set."""
    lines = (folder / source / "items.jsonl").read_text(encoding="utf-8").splitlines()
    items: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [
        Example(
            item["text"],
            int(bool(item["expect"] if "expect" in item else item["label"])),
            source,
            zlib.crc32(str(item[SOURCES[source]]).encode()) % FOLDS,
        )
        for item in items
    ]


def fit(examples: Sequence[Example]) -> Linear:
    """Fit logistic regression, all examples at a time, each weight with a rate of its own (AdaGrad)."""
    found = [features(each.text) for each in examples]
    counts = np.array([len(each) for each in found])
    index = np.concatenate([np.array(each, dtype=np.int64) for each in found])
    row = np.repeat(np.arange(len(examples)), counts)
    value = (1 / np.sqrt(np.maximum(counts, 1)))[row]
    label = np.array([each.label for each in examples], dtype=np.float64)
    weights, seen, bias, bias_seen = np.zeros(BUCKETS), np.full(BUCKETS, 1e-8), 0.0, 1e-8
    for _ in range(ROUNDS):
        margin = np.bincount(row, weights[index] * value, minlength=len(examples)) + bias
        error = (1 / (1 + np.exp(-margin)) - label) / len(examples)
        slope = np.bincount(index, error[row] * value, minlength=BUCKETS) + DECAY * weights
        seen += slope * slope
        weights -= RATE * slope / np.sqrt(seen)
        bias_seen += float(error.sum()) ** 2
        bias -= RATE / 10 * float(error.sum()) / bias_seen**0.5
    return Linear(quantised(weights)[0] * np.float32(quantised(weights)[1]), bias)


def quantised(weights: NDArray[np.float64]) -> tuple[NDArray[np.float32], float]:
    """Return weights as whole steps, and the size of a step."""
    scale = float(np.abs(weights).max()) / LEVELS or 1.0
    return np.rint(weights / scale).astype(np.float32), scale


def save(model: Linear, path: Path) -> None:
    """Write the model: a byte a weight."""
    steps, scale = quantised(model.weights.astype(np.float64))
    np.savez_compressed(path, weights=steps.astype(np.int8), scale=np.float32(scale), bias=np.float32(model.bias))


def prf(pairs: Sequence[tuple[int, float]], threshold: float) -> str:
    """Return precision, recall and F1."""
    hits = sum(label for label, score in pairs if score >= threshold)
    told, there = sum(score >= threshold for _, score in pairs), sum(label for label, _ in pairs)
    precision, recall = hits / max(told, 1), hits / max(there, 1)
    return f"P {precision:.3f} R {recall:.3f} F1 {2 * precision * recall / max(precision + recall, 1e-9):.3f}"


if __name__ == "__main__":
    main()
