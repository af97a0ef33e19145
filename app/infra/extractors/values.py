"""The values of keys in one form, whichever words the user took: BCP-47 languages, IANA zones, ISO birthdays."""

import re
from typing import Final

_LANGUAGES: Final = {
    "en": "english 英文 英语 english",
    "zh": "chinese mandarin 中文 汉语 普通话 国语 华语 中国话",
    "zh-Hans": "简体 简体中文 简体字 simplified\xa0chinese",
    "zh-Hant": "繁体 繁体中文 繁体字 正体中文 traditional\xa0chinese",
    "yue": "cantonese 粤语 广东话",
    "de": "german deutsch 德语 德文",
    "fr": "french français 法语 法文",
    "es": "spanish español castellano 西班牙语 西班牙文",
    "pt": "portuguese português 葡萄牙语 葡萄牙文",
    "it": "italian italiano 意大利语 意大利文",
    "nl": "dutch nederlands 荷兰语 荷兰文",
    "ja": "japanese 日语 日文 日本语",
    "ko": "korean 韩语 韩文 朝鲜语",
    "ru": "russian 俄语 俄文",
    "ar": "arabic 阿拉伯语 阿拉伯文",
    "pl": "polish 波兰语 波兰文",
    "sv": "swedish 瑞典语 瑞典文",
    "da": "danish 丹麦语 丹麦文",
    "nb": "norwegian 挪威语 挪威文",
    "fi": "finnish 芬兰语 芬兰文",
    "cs": "czech 捷克语 捷克文",
    "sk": "slovak 斯洛伐克语",
    "hu": "hungarian 匈牙利语 匈牙利文",
    "ro": "romanian 罗马尼亚语 罗马尼亚文",
    "bg": "bulgarian 保加利亚语",
    "hr": "croatian 克罗地亚语",
    "sr": "serbian 塞尔维亚语",
    "uk": "ukrainian 乌克兰语 乌克兰文",
    "el": "greek 希腊语 希腊文",
    "tr": "turkish 土耳其语 土耳其文",
    "he": "hebrew 希伯来语",
    "hi": "hindi 印地语 印度语",
    "bn": "bengali 孟加拉语",
    "ta": "tamil 泰米尔语",
    "ur": "urdu 乌尔都语",
    "fa": "persian farsi 波斯语",
    "th": "thai 泰语 泰文",
    "vi": "vietnamese 越南语 越南文",
    "id": "indonesian 印尼语 印度尼西亚语",
    "ms": "malay 马来语 马来文",
    "tl": "tagalog filipino 菲律宾语",
    "sw": "swahili 斯瓦希里语",
    "ca": "catalan 加泰罗尼亚语",
    "et": "estonian 爱沙尼亚语",
    "lv": "latvian 拉脱维亚语",
    "lt": "lithuanian 立陶宛语",
    "is": "icelandic 冰岛语",
    "ga": "irish 爱尔兰语",
    "cy": "welsh 威尔士语",
}
LANGUAGES: Final = {name.replace("\xa0", " "): code for code, names in _LANGUAGES.items() for name in names.split(" ")}
LANGUAGE: Final = "|".join(sorted(map(re.escape, LANGUAGES), key=len, reverse=True))

_ZONES: Final = """
Asia/Shanghai beijing shanghai shenzhen guangzhou china 北京 上海 深圳 广州 中国 国内
Asia/Hong_Kong hong\xa0kong 香港
Asia/Taipei taipei 台北 台湾
Asia/Tokyo tokyo japan 东京 日本
Asia/Seoul seoul korea 首尔 韩国
Asia/Singapore singapore 新加坡
Asia/Bangkok bangkok thailand 曼谷 泰国
Asia/Jakarta jakarta 雅加达
Asia/Manila manila 马尼拉
Asia/Ho_Chi_Minh hanoi saigon vietnam 河内 越南
Asia/Kolkata india delhi mumbai bangalore 印度 德里 孟买
Asia/Karachi karachi pakistan 卡拉奇
Asia/Dubai dubai 迪拜
Asia/Jerusalem israel jerusalem 以色列
Asia/Riyadh riyadh 利雅得
Europe/London london britain uk 伦敦 英国
Europe/Dublin dublin ireland 都柏林
Europe/Lisbon lisbon portugal 里斯本 葡萄牙
Europe/Madrid madrid barcelona spain 马德里 巴塞罗那 西班牙
Europe/Paris paris france 巴黎 法国
Europe/Berlin berlin munich hamburg frankfurt germany 柏林 慕尼黑 法兰克福 德国
Europe/Amsterdam amsterdam 阿姆斯特丹 荷兰
Europe/Brussels brussels 布鲁塞尔
Europe/Zurich zurich switzerland 苏黎世 瑞士
Europe/Vienna vienna austria 维也纳
Europe/Rome rome milan italy 罗马 米兰 意大利
Europe/Prague prague 布拉格
Europe/Warsaw warsaw poland 华沙 波兰
Europe/Stockholm stockholm sweden 斯德哥尔摩 瑞典
Europe/Oslo oslo norway 奥斯陆
Europe/Copenhagen copenhagen denmark 哥本哈根
Europe/Helsinki helsinki finland 赫尔辛基
Europe/Athens athens greece 雅典
Europe/Istanbul istanbul turkey 伊斯坦布尔
Europe/Moscow moscow 莫斯科 俄罗斯
Europe/Kyiv kyiv kiev 基辅
Africa/Cairo cairo egypt 开罗
Africa/Nairobi nairobi kenya 内罗毕
Africa/Lagos lagos nigeria 拉各斯
Africa/Johannesburg johannesburg cape\xa0town 约翰内斯堡
America/New_York new\xa0york boston washington eastern est edt et 纽约 波士顿 华盛顿 美东
America/Chicago chicago central cst cdt 芝加哥
America/Denver denver mountain mst mdt 丹佛
America/Los_Angeles los\xa0angeles san\xa0francisco seattle pacific california pst pdt pt 洛杉矶 旧金山 西雅图 美西
America/Toronto toronto 多伦多
America/Vancouver vancouver 温哥华
America/Mexico_City mexico 墨西哥
America/Sao_Paulo sao\xa0paulo são\xa0paulo brazil 圣保罗 巴西
America/Argentina/Buenos_Aires buenos\xa0aires 布宜诺斯艾利斯
America/Bogota bogota bogotá 波哥大
America/Lima lima 利马
America/Santiago santiago 圣地亚哥
Australia/Sydney sydney melbourne 悉尼 墨尔本 澳洲
Australia/Perth perth 珀斯
Pacific/Auckland auckland 奥克兰 新西兰
UTC utc zulu 世界时
Etc/GMT gmt 格林尼治
Europe/Berlin cet cest central\xa0european 欧洲中部"""
ZONES: Final = {
    name.replace("\xa0", " "): line.split(" ")[0] for line in _ZONES.split("\n") if line for name in line.split(" ")[1:]
}
ZONE: Final = "|".join(sorted(map(re.escape, ZONES), key=len, reverse=True))

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH: Final = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    + "|".join(_MONTHS)
    + "|sept)"
)
_DAY_MONTH: Final = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -]({MONTH})\.?,?(?: (\d{{4}}))?", re.IGNORECASE)
_MONTH_DAY: Final = re.compile(rf"({MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?,?(?: (\d{{4}}))?", re.IGNORECASE)
_ISO: Final = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_CHINESE: Final = re.compile(r"(?:(\d{4})\s*年\s*)?(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]?")
_NUMBER: Final = re.compile(r"(?:([二三])?(十))?([一二三四五六七八九])?(?=月|日|号|十?$)")
_ONES: Final = "一二三四五六七八九"
MAX_VALUE_CHARS: Final = 200


def language(word: str) -> str:
    """Return the code of a language that is named in English or Chinese."""
    return LANGUAGES.get(word.lower(), word)


def zone(word: str) -> str:
    """Return the zone of a place, an abbreviation or a country."""
    return ZONES.get(word.lower(), word)


def date(text: str) -> str | None:
    """Return a date of birth as `1984-11-09`, or `11-09` without its year; None where none is told."""
    text = _NUMBER.sub(_arabic, text)
    if found := _ISO.search(text):
        return _shown(found[1], int(found[2]), int(found[3]))
    if found := _CHINESE.search(text):
        return _shown(found[1], int(found[2]), int(found[3]))
    if found := _DAY_MONTH.search(text):
        return _shown(found[3], _MONTHS.index(found[2][:3].lower()) + 1, int(found[1]))
    if found := _MONTH_DAY.search(text):
        return _shown(found[3], _MONTHS.index(found[1][:3].lower()) + 1, int(found[2]))
    return None


def tidy(text: str) -> str:
    """Return a value without what stands loosely around it, and within its bound."""
    return " ".join(text.split()).strip(" \t,.;:!?，。；：！？、—–-\"'“”‘’「」()（）")[:MAX_VALUE_CHARS]


def _shown(year: str | None, month: int, day: int) -> str:
    return f"{year}-{month:02}-{day:02}" if year else f"{month:02}-{day:02}"


def _arabic(match: re.Match[str]) -> str:
    tens, ten, one = match.groups()
    if not (ten or one):
        return ""
    number = (_ONES.index(tens) + 1 if tens else 1) * 10 if ten else 0
    return str(number + (_ONES.index(one) + 1 if one else 0))
