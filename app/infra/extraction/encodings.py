"""Bytes into text: which encoding they are in, and what of them is text at all. Pure."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from charset_normalizer import from_bytes

from app.infra.extraction.model import Refusal, RefusedError

# One wrong byte in a long text costs one character, not the document.
MAX_BROKEN_SHARE: Final = 0.001
MAX_CONTROL_SHARE: Final = 0.01
SAMPLES: Final = 4
SAMPLE_BYTES: Final = 8 * 1024


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and the encoding that its bytes were in."""

    text: str
    encoding: str


_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A NUL stands in UTF-16 alone, wherever a line ends. Without one UTF-16 is the last guess: the bytes of a line's end in
# GB18030 or Big5 are a letter in it.
_BYTEWISE: Final = ["gb18030", "big5", "cp1252"]
_PAIRWISE: Final = ["utf_16_le", "utf_16_be"]
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decode(data: bytes) -> Decoded:
    """Return the text of a whole document. Raises RefusedError (`not_text`, `unknown_encoding`)."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _checked(_tolerant(data, encoding, allowed=1), encoding)
    text = _tolerant(data, "utf-8")
    if text is not None and "\x00" not in text:
        return _checked(text, "utf-8")
    guesses = [_PAIRWISE] if b"\x00" in data else [_BYTEWISE, _PAIRWISE]
    for candidates in guesses:
        for sample in _samples(data):
            best = from_bytes(sample, cp_isolation=candidates, enable_fallback=False).best()
            if best is not None:
                encoding = best.encoding.replace("_", "-")
                return _checked(_tolerant(data, encoding), encoding)
    raise RefusedError(Refusal.NOT_TEXT if b"\x00" in data else Refusal.UNKNOWN_ENCODING)


def _samples(data: bytes) -> Iterator[bytes]:
    """Yield the whole, then pieces between line ends: one wrong byte hides the encoding of the whole."""
    yield data
    step = len(data) // SAMPLES + 1
    for begin in range(0, len(data), step):
        start = data.find(b"\n", begin) + 1 if begin else 0
        end = data.rfind(b"\n", start, start + SAMPLE_BYTES)
        if start < end and (start or not begin):
            yield data[start:end]


def _tolerant(data: bytes, encoding: str, *, allowed: int = 0) -> str | None:
    """Decode, with U+FFFD for what is broken; None where too much is. `allowed` is never too much."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    written = data.decode(encoding, "ignore").count("�")
    broken = text.count("�") - written
    return text if broken <= max(allowed, len(text) * MAX_BROKEN_SHARE) else None


def _checked(text: str | None, encoding: str) -> Decoded:
    if text is None:
        raise RefusedError(Refusal.UNKNOWN_ENCODING)
    if "\x00" in text or len(_CONTROLS.findall(text)) > len(text) * MAX_CONTROL_SHARE:
        raise RefusedError(Refusal.NOT_TEXT)
    return Decoded(text, encoding)
