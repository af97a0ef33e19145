"""The process that reads one file: it limits itself, takes the bytes from its standard input, writes the text, ends.

It is run as a module by `extractor.py` and has no other caller. What it reads is hostile until shown otherwise: what
fails here ends this process and no other. It can write to no file, and nobody reads what it says of an error.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import asdict
from typing import Any, Final

from app.infra.extraction.model import READY, Extracted, Limits, MediaType, Refusal, RefusedError
from app.infra.extraction.reading import read

PR_SET_PDEATHSIG: Final = 1  # Linux, prctl(2)
PR_SET_DUMPABLE: Final = 4
PR_SET_NO_NEW_PRIVS: Final = 38
OPEN_FILES: Final = 64


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    limits = Limits(**order["limits"])
    media_type = MediaType(order["media_type"])
    load(media_type)
    confine(limits, order["parent"])
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    try:
        extracted = read(media_type, sys.stdin.buffer.read(), limits)
        text = extracted.text.encode("utf-8", "replace")
        header = shown(extracted, len(text))
        text += extracted.aside.encode("utf-8", "replace")
    except RefusedError as error:
        header, text = {"refused": error.reason}, b""
    except (MemoryError, RecursionError):
        header, text = {"refused": Refusal.TOO_COMPLEX}, b""
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n")
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    os._exit(0)  # what was made of a hostile file isn't tidied up: that has a time of its own


def load(media_type: MediaType) -> None:
    """Import what reads this kind before anything is limited: a library that is missing is no fault of the file's."""
    if media_type is MediaType.PDF or media_type is MediaType.DOCX:
        pass


def confine(limits: Limits, parent: int) -> None:
    """Take what this process doesn't need: files, children, memory and time past the limits, a life after its parent.

    macOS knows no limit of memory: there the parent watches.
    """
    wanted = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_NPROC: 0,
    }
    for kind, most in wanted.items():
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(kind)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901 - never above what is allowed
            resource.setrlimit(kind, (most, most))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def shown(extracted: Extracted, text_bytes: int) -> dict[str, Any]:  # Any: JSON
    """Return all but the texts, as JSON, and how many bytes of what follows are the document's."""
    return {
        "encoding": extracted.encoding,
        "layout": asdict(extracted.layout),
        "text_bytes": text_bytes,
    }


if __name__ == "__main__":
    main()
