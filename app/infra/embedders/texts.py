"""What a model can read of a text (bounded, no NUL, no lone surrogate), and how its tokens are counted."""

import math
import re
from collections.abc import Callable

COUNTED_CHARS = 4_000
_SAMPLES = 4

_UNREADABLE = re.compile("[\x00\ud800-\udfff]")
_LATIN_RUN = re.compile(r"[\x00-\u02ff]+")
_LATIN_CHARS_PER_TOKEN = 3.5


def readable(text: str, max_chars: int) -> str:
    """Return the first `max_chars` characters, with U+FFFD for NUL (C strings end there) and for lone surrogates."""
    return _UNREADABLE.sub("�", text[:max_chars])


def counted(text: str, count: Callable[[str], int]) -> int:
    """Count tokens by `count` in bounded time: of a long text, evenly spread samples are counted and scaled up."""
    if len(text) <= COUNTED_CHARS:
        return count(readable(text, COUNTED_CHARS))
    size = COUNTED_CHARS // _SAMPLES
    step = (len(text) - size) // (_SAMPLES - 1)
    seen = sum(count(readable(text[i * step :], size)) for i in range(_SAMPLES))
    return math.ceil(seen * len(text) / COUNTED_CHARS)


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a model whose tokenizer isn't here; it errs on the high side.

    One for each character beyond Latin, one for 3.5 Latin characters (common vocabularies: 0.6 to 1.1, and 3.8 to 4.6).
    """
    latin = sum(len(run) for run in _LATIN_RUN.findall(text))
    return len(text) - latin + math.ceil(latin / _LATIN_CHARS_PER_TOKEN)
