"""Looks for words in files as bytes: in every form that software is wont to write text in."""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

CHUNK_BYTES = 16 * 1024 * 1024
OVERLAP_BYTES = 512
CONTEXT_BYTES = 60
# Digests of what was looked through for which words, and found clean: most files are as they were at the last look.
_CLEAN: set[tuple[bytes, frozenset[bytes]]] = set()


@dataclass(frozen=True)
class Finding:
    place: str
    word: str
    form: str
    context: bytes


def forms(word: str) -> Mapping[str, bytes]:
    """Return what a word looks like in each form, in lower case: both sides of the comparison are lowered."""
    plain = word.encode()
    found = {
        "UTF-8": plain,
        "UTF-16 LE": word.encode("utf-16-le"),
        "UTF-16 BE": word.encode("utf-16-be"),
        "JSON": json.dumps(word)[1:-1].encode(),
        "percent": quote(word).encode(),
        "hexadecimal": plain.hex().encode(),
    }
    for offset in range(3):
        found[f"base64 at {offset}"] = in_base64(plain, offset)
        found[f"URL-safe base64 at {offset}"] = in_base64(plain, offset).translate(bytes.maketrans(b"+/", b"-_"))
    return {form: value.lower() for form, value in found.items()}


def in_base64(plain: bytes, offset: int) -> bytes:
    """Return the digits that the bytes alone decide, where `offset` bytes of another text stand before them."""
    first = -(-offset * 8 // 6)
    last = (offset + len(plain)) * 8 // 6
    return base64.b64encode(bytes(offset) + plain)[first:last]


def scan(folders: Iterable[Path], words: Iterable[str]) -> list[Finding]:
    """Return where any of the words stands in any file below the folders."""
    wanted = _wanted(words)
    return [
        finding
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
        for chunk in _chunks(path)
        for finding in _found(chunk, wanted, str(path))
    ]


def scan_bytes(content: bytes, words: Iterable[str], place: str) -> list[Finding]:
    """Return where any of the words stands in the content."""
    return list(_found(content, _wanted(words), place))


def _wanted(words: Iterable[str]) -> dict[bytes, tuple[str, str]]:
    return {value: (word, form) for word in words for form, value in forms(word).items()}


def _chunks(path: Path) -> Iterator[bytes]:
    """Read a file piece by piece. Servers that run delete some meanwhile: what is gone holds nothing."""
    try:
        with path.open("rb") as file:
            kept = b""
            while piece := file.read(CHUNK_BYTES):
                yield kept + piece
                kept = piece[-OVERLAP_BYTES:]
    except FileNotFoundError:
        return


def _found(content: bytes, wanted: Mapping[bytes, tuple[str, str]], place: str) -> Iterator[Finding]:
    looked = (hashlib.blake2b(content).digest(), frozenset(wanted))
    if looked in _CLEAN:
        return
    lowered = content.lower()
    is_clean = True
    for value, (word, form) in wanted.items():
        at = lowered.find(value)
        if at >= 0:
            is_clean = False
            yield Finding(place, word, form, content[max(0, at - CONTEXT_BYTES) : at + CONTEXT_BYTES])
    if is_clean:
        _CLEAN.add(looked)
