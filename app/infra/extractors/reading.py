"""What a message states: by rules first, and where they have no word for it, by the model."""

import re
from typing import Final

from app.core.writing import Finding, Kind, Trust
from app.infra.extractors import linear
from app.infra.extractors.rules import MAX_SENTENCE_CHARS, findings, is_another_world, own_text

# Where precision and recall are worth the same on the development sets (docs/quality.md).
THRESHOLD: Final = 0.43
# What the model was trained on, and so what it is asked about: people and where they are from, what travellers want.
# Of anything else it knows nothing: asked about all Chinese messages, it takes a third of the questions for statements.
_KNOWN: Final = re.compile(
    r"[男女妹姐哥弟爷娘姑嫂婆爸妈汉侠]|座(?!位)|老公|老婆|美眉|帅|小伙|妞|狮子|处女|天蝎|双鱼|白羊|金牛|双子|巨蟹|天秤|"
    r"射手|摩羯|水瓶|酒店|宾馆|餐馆|餐厅|饭店|景点|景区|公园|博物馆|门票|票价|人均|评分|地铁|打车|出租|车牌|周边|附近|好吃|"
    r"地址|电话|\d元|经济型|无烟|哪一?家|[去吃逛玩住菜店馆山寺街城区]|大厦|广场|机场|车站",
)


def read(text: str, model: linear.Linear | None = None) -> list[Finding]:
    """Return what a user's message states. Pure; in well under a millisecond where it isn't long. `model` is another
    than the one that ships.
    """
    found = findings(text)
    if found or not _is_known(text) or is_another_world(text):
        return found
    likely = (model or linear.load()).score(own_text(text))
    if likely < THRESHOLD:
        return []
    said = text.strip()[:MAX_SENTENCE_CHARS]
    return [Finding(Kind.MEMORY, None, said, Trust.INFERRED, round(likely, 2), said)]


def _is_known(text: str) -> bool:
    return bool(_KNOWN.search(text)) or linear.names_a_place(text)
