"""A model small enough for any test: hashed character trigrams. It passes the contract that the real ones pass."""

import threading
import zlib

import numpy as np

from app.infra.embedders.port import Vectors
from app.infra.embedders.texts import counted, estimated_tokens, readable
from app.infra.embedders.vectors import unit_rows


class HashingEmbedder:
    """Texts that share trigrams are alike. Keeps the batches that it saw; a cleared `gate` holds it in the next."""

    name = "hashing"
    revision = "1"
    max_chars = 1_000

    def __init__(self, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.batches: list[list[str]] = []
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.poison = ""
        self.counted: list[str] = []
        self.loads = 0
        self.closed = False

    def load(self) -> None:
        self.loads += 1

    def embed(self, texts: list[str]) -> Vectors:
        self.batches.append(list(texts))
        self.threads.add(threading.current_thread().name)
        self.gate.wait(30)
        if self.poison and any(self.poison in text for text in texts):
            raise ArithmeticError("the model broke")
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            padded = f" {readable(text, self.max_chars)} "
            for start in range(len(padded) - 1):
                rows[place, zlib.crc32(padded[start : start + 3].encode()) % self.dimensions] += 1
        return unit_rows(rows, len(texts), self.dimensions)

    def count_tokens(self, text: str) -> int:
        self.counted.append(text)
        return counted(text, estimated_tokens)

    def close(self) -> None:
        self.closed = True
