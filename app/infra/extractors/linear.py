"""A linear model over character and word n-grams: whether a message states something of its author, in one number.

It sees what rules have no words for, and says nothing of what is stated. Its features are hashed, its weights are a
byte each; how it was trained stands beside the weights (linear-1.md).
"""

import math
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

WEIGHTS: Final = Path(__file__).with_name("linear-1.npz")
BUCKETS: Final = 2**16
# Of a longer message its beginning and its end are read.
MAX_CHARS: Final = 400
LONGEST_GRAM: Final = 4

# Names of one class are seen as one, so that what is learnt of one city holds for the next.
_CLASSES: Final = (
    (
        "P",
        (
            "北京|上海|天津|重庆|河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|"
            "海南|四川|贵州|云南|陕西|甘肃|青海|台湾|内蒙古?|广西|西藏|宁夏|"
            "新疆|香港|澳门|石家庄|太原|沈阳|长春|哈尔滨|南京|杭州|合肥|福州|南昌|济南|郑州|武汉|长沙|广州|海口|"
            "成都|贵阳|昆明|西安|兰州|西宁|呼和浩特|南宁|拉萨|银川|乌鲁木齐|"
            "深圳|苏州|无锡|常州|南通|徐州|扬州|镇江|泰州|宁波|温州|绍兴|嘉兴|金华|台州|湖州|义乌|厦门|泉州|漳州|"
            "莆田|青岛|烟台|威海|潍坊|淄博|临沂|济宁|大连|鞍山|洛阳|开封|"
            "焦作|信阳|南阳|宜昌|襄阳|荆州|株洲|湘潭|岳阳|衡阳|常德|珠海|佛山|东莞|中山|惠州|汕头|湛江|江门|桂林|"
            "柳州|北海|三亚|绵阳|乐山|宜宾|遵义|大理|丽江|咸阳|宝鸡|延安|"
            "芜湖|蚌埠|黄山|九江|赣州|景德镇|唐山|秦皇岛|保定|邯郸|廊坊|大同|包头|吉林|大庆|桂林|鄂州|英国|美国|"
            "日本|韩国|法国|德国|加拿大|澳洲|澳大利亚|新西兰|新加坡|泰国|"
            "意大利|西班牙|俄罗斯|东京|大阪|首尔|纽约|伦敦|巴黎|悉尼|墨尔本|温哥华|多伦多|洛杉矶"
        ),
    ),
    ("Z", "(?:白羊|牡羊|金牛|双子|巨蟹|狮子|处女|天秤|天平|天蝎|射手|人马|摩羯|魔羯|山羊|水瓶|双鱼)座?"),
)
_NAMED: Final = tuple((f" {name.lower()}~ ", re.compile(words)) for name, words in _CLASSES)
_UNIT: Final = re.compile(r"[\u3400-\u9fff]+|[a-z'~]+|0+|[^\sa-z0\u3400-\u9fff]")
_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Linear:
    """The model: a weight for each bucket, and what a message without features has."""

    weights: NDArray[np.float32]
    bias: float

    def score(self, text: str) -> float:
        """Return how likely it is that the text states something of its author, between 0 and 1."""
        found = features(text)
        if not found:
            return 0.0
        total = float(self.weights[found].sum()) / math.sqrt(len(found)) + self.bias
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=1)
def load() -> Linear:
    """Return the model that ships."""
    with np.load(WEIGHTS) as kept:
        return Linear(kept["weights"].astype(np.float32) * np.float32(kept["scale"]), float(kept["bias"]))


def features(text: str) -> list[int]:
    """Return the buckets of a text's n-grams, each once: of characters in Chinese, of words elsewhere."""
    if len(text) > MAX_CHARS:
        text = text[: MAX_CHARS // 2] + " " + text[-MAX_CHARS // 2 :]
    text = _DIGIT.sub("0", text.lower())
    grams = _grams(text)
    classed = text
    for shown, named in _NAMED:
        classed = named.sub(shown, classed)
    if classed != text:
        grams |= _grams(classed)
    return [zlib.crc32(gram.encode()) % BUCKETS for gram in grams]


def names_a_place(text: str) -> bool:
    """Say whether a text names something of a class that the model knows."""
    return any(named.search(text) for _, named in _NAMED)


def _grams(text: str) -> set[str]:
    words = ["^"]
    for unit in _UNIT.findall(text):
        if "\u3400" <= unit[0] <= "\u9fff":
            words.extend(unit)
        else:
            words.append(unit)
    words.append("$")
    return {
        "\x1f".join(words[at : at + size]) for size in range(1, LONGEST_GRAM + 1) for at in range(len(words) - size + 1)
    }
