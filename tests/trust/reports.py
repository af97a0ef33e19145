"""What a test of what must hold has counted, for whoever runs it with `-s` (`make trust` does)."""

import sys


def tell(line: str) -> None:
    sys.stdout.write(f"\n{line}\n")
