"""The language of a text as its script tells it. Cheap: a look at each of the first letters, no model."""

import re
from typing import Final

MAX_CHARS: Final = 2_000

# The order is stored in segments: add at the end only. "und" is a text without letters.
LANGUAGES: Final = ("und", "en", "zh", "ja", "ko", "ru", "ar", "he", "el", "th", "hi")

_SCRIPTS: Final = {
    "en": re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+"),
    "zh": re.compile(r"[\u3005-\u3007\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "ja": re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff\uff66-\uff9d]"),
    "ko": re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7af]"),
    "ru": re.compile(r"[\u0400-\u052f]+"),
    "ar": re.compile(r"[\u0600-\u06ff\u0750-\u077f]+"),
    "he": re.compile(r"[\u0590-\u05ff]+"),
    "el": re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]+"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
    "hi": re.compile(r"[\u0900-\u097f]+"),
}
# Kana decide even where most characters are Han.
_KANA_SHARE: Final = 0.1


def language(text: str) -> str:
    """Return one of LANGUAGES: the script with the most words, a character counting as one where words have no spaces.

    Latin script is "en" and Cyrillic "ru", whatever is written in them: what the product needs to know of a text is
    which others it shares words with, and how to count its tokens.
    """
    head = text[:MAX_CHARS]
    if head.isascii():
        return "en" if _SCRIPTS["en"].search(head) else "und"
    counts = {name: len(script.findall(head)) for name, script in _SCRIPTS.items()}
    if counts["ja"] > _KANA_SHARE * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts.pop("zh")
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else "und"


def language_code(text: str) -> int:
    """Return the place of a text's language in LANGUAGES."""
    return LANGUAGES.index(language(text))
