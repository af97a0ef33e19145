"""How long reading a message takes of a core: `python tools/writer_speed.py FILE...`, lines of JSON with a `text`."""

import json
import sys
import time
from pathlib import Path

from app.infra.extractors.reading import read

ROUNDS = 3


def main() -> None:
    """Read each file's messages, and tell the processor's time for one: the best of some rounds."""
    for name in sys.argv[1:]:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
        texts = [json.loads(line)["text"] for line in lines]
        taken = sorted(min(_taken_ms(text) for _ in range(ROUNDS)) for text in texts)
        chars = sum(map(len, texts)) / len(texts)
        shown = ", ".join(f"{part} {taken[int(len(taken) * part / 100)]:.2f}" for part in (50, 90, 99))
        print(f"{name}: {len(texts)} messages of {chars:.0f} characters, ms by percentile: {shown}")


def _taken_ms(text: str) -> float:
    begun = time.process_time_ns()
    read(text)
    return (time.process_time_ns() - begun) / 1e6


if __name__ == "__main__":
    main()
