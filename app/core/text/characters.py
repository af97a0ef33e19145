"""Questions of single characters ("猫？"): the index has pairs of characters, and all that may hold one are asked for.

The road not taken is to index single characters too: that makes segments 14 % larger (XQuAD in Chinese, CMRC), for
questions that are rare. This finds 13,515 of the 13,542 paragraphs there that hold one of 300 characters, in 12 to
16 ms, and costs other questions nothing.
"""

from functools import cache
from itertools import chain
from typing import Final

from app.core.text.terms import terms

MAX_CHARACTERS: Final = 2
_HAN: Final = range(0x3400, 0xA000)
# The common characters of both standards, simplified (3,755) and traditional (5,401). A character is found where one of
# the two beside it is among these, or where it stands alone.
_LEVEL_1: Final = (("gb2312", range(0xB0A1, 0xD7FA)), ("big5", range(0xA440, 0xC67F)))
_KANA: Final = "".join(map(chr, chain(range(0x3041, 0x3097), range(0x30A1, 0x30FB)))) + "ー々〇"


def characters(question: str) -> list[list[str]]:
    """Return for each character of a question that is nothing but single ones the terms that may hold it.

    Empty for all other questions: their own terms find what they ask for.
    """
    asked = list(dict.fromkeys(terms(question)))
    if len(asked) > MAX_CHARACTERS or not all(len(term) == 1 and ord(term) in _HAN for term in asked):
        return []
    return [
        list(dict.fromkeys([one, *(one + by for by in _common()), *(by + one for by in _common())])) for one in asked
    ]


@cache
def _common() -> str:
    codes = ((code.to_bytes(2), standard) for standard, span in _LEVEL_1 for code in span)
    return "".join(dict.fromkeys("".join(pair.decode(standard, "ignore") for pair, standard in codes) + _KANA))
