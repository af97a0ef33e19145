"""Sensitive categories, told by rules in English and Chinese: what must not be inferred about anybody.

The rules look for what a person says of a person ("diagnosed with", "我患有"), not for a topic: an interest in medicine
is none. They are no proof that something isn't sensitive; what they find is refused, and a tenant can say better.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from typing import Final

MIN_CARD_DIGITS: Final = 13


class Category(StrEnum):
    """What is never inferred."""

    HEALTH = "health"
    BELIEF = "belief"
    BIOMETRIC = "biometric"
    SEXUAL = "sexual"
    POLITICAL = "political"
    FINANCIAL = "financial"
    MINORS = "minors"


# Names of keys: a word of the name, or two that stand together.
_NAMES: Final = {
    Category.HEALTH: """
        health medical diagnosis diagnoses disease diseases illness symptom symptoms medication medications prescription
        prescriptions allergy allergies disability disabilities pregnancy pregnant therapist psychiatric blood_type
        blood_pressure hiv cancer diabetes""",
    Category.BELIEF: "religion religious belief beliefs faith denomination",
    Category.BIOMETRIC: """
        biometric biometrics fingerprint fingerprints voiceprint faceprint face_id iris_scan dna genetic""",
    Category.SEXUAL: "sexual sexuality sexual_orientation sex_life",
    Category.POLITICAL: "politics political political_party voting trade_union union_membership",
    Category.FINANCIAL: """
        iban bank_account bank_card account_number card_number credit_card debit_card cvv cvc sort_code routing_number
        account_balance""",
    Category.MINORS: "child children kid kids son sons daughter daughters minors baby toddler",
}

# Read as verbose patterns: a space stands as `\\ `, line ends count for nothing.
_ENGLISH: Final = {
    Category.HEALTH: r"""
        diagnosed\ with | suffer(?:s|ing|ed)?\ from | allergic\ to | hiv[- ]positive | chemotherapy | antidepressants?
        | (?:am|is|i'm)\ (?:pregnant|diabetic|allergic|disabled) | (?:has|have|had|got)\ (?:cancer|depression|hiv|aids)
        | insulin | diabetes | asthma | epilep(?:sy|tic) | schizophrenia | bipolar
        | (?:my|his|her|their|user's)\ (?:therapist|psychiatrist|medication|diagnosis|illness|disease|disability)""",
    Category.BELIEF: r"""
        muslim | catholic | protestant | buddhist | hindu | sikh | atheist | jewish | religious\ beliefs?
        | (?:a|devout|practi[sc]ing|born-again)\ christian | converted\ to\ \w+
        | (?:goes|go)\ to\ (?:church|mosque|synagogue)""",
    Category.BIOMETRIC: r"""
        fingerprints? | voiceprints? | faceprints? | (?:iris|retina)\ scans? | dna\ (?:profile|sequence)""",
    Category.SEXUAL: r"""
        gay | lesbian | bisexual | homosexual | heterosexual | asexual | transgender
        | sexual\ orientation | sex\ life""",
    Category.POLITICAL: r"""
        vote[sd]?\ (?:for|labour|republican|democrat|conservative|green)
        | (?:am|is|i'm)\ an?\ (?:republican|democrat|communist|socialist|conservative|liberal|marxist)
        | member\ of\ (?:the|a)\ (?:\w+\ )?(?:party|trade\ union) | political\ (?:views?|opinions?|beliefs?|party)""",
    # With the number: where one was masked, the words beside it tell nothing any more.
    Category.FINANCIAL: r"""
        (?:account\ (?:number|balance)|card\ number|sort\ code|routing\ number|cvv|bank\ account|savings\ account)
        (?:\ is|\ of|\ ending|\ in|[:=]|\ ){0,4}[^a-z0-9\[\]]?\d+""",
    Category.MINORS: r"""
        (?:my|his|her|their|our|user's)\ (?:[a-z]+[- ]){0,3}(?:son|daughter|child|children|kids?|toddler|baby)
        | (?:\d|1[0-7])[- ]years?[- ]old\ (?:son|daughter|child|boy|girl|kid|pupil) | underage""",
}

_CHINESE: Final = {
    Category.HEALTH: """
        确诊 | 確診 | 患有 | 患病 | 患癌 | 病史 | 怀孕 | 懷孕 | 孕期 | 糖尿病 | 高血压 | 高血壓 | 癌症 | 抑郁症 | 憂鬱症
        | 艾滋 | 愛滋 | 过敏 | 過敏 | 残疾 | 殘疾 | 服药 | 服藥 | 化疗 | 化療 | 精神病 | 心脏病 | 心臟病 | 哮喘 | 癫痫
        | 癲癇""",
    Category.BELIEF: """
        信仰 | 信奉 | 信佛 | 信教 | 基督徒 | 天主教徒 | 穆斯林 | 佛教徒 | 道教徒 | 无神论 | 無神論""",
    Category.BIOMETRIC: "指纹 | 指紋 | 声纹 | 聲紋 | 虹膜 | 人脸特征 | 人臉特徵 | 基因检测 | 基因檢測",
    Category.SEXUAL: """
        同性恋 | 同性戀 | 双性恋 | 雙性戀 | 异性恋 | 異性戀 | 性取向 | 性生活 | 变性 | 跨性别 | 跨性別""",
    Category.POLITICAL: """
        政治(?:立场|立場|观点|觀點|倾向|傾向|面貌) | 政见 | 政見 | 党员 | 黨員 | 入党 | 入黨 | 投票给 | 投票給""",
    Category.FINANCIAL: r"""
        (?:卡号|卡號|(?:银行|銀行|储蓄|儲蓄)(?:账号|账户|帐号|帳號|帳戶)|(?:账户|帳戶|存款)(?:余额|餘額))
        [是为為有：:=\s]{0,4}[^\w\[\]]?\d""",
    Category.MINORS: r"""
        未成年 | [我他她](?:的|家)?(?:\d+[岁歲]的?)?(?:女儿|女兒|儿子|兒子|孩子|小孩|宝宝|寶寶)
        | (?<!\d)(?:\d|1[0-7])\s*[岁歲]""",
}

_BY_NAME: Final = {name: found for found, names in _NAMES.items() for name in names.split()}
# A word's border beside Chinese characters is none to `\\b`: they are letters, too.
_BY_TEXT: Final = [
    (found, re.compile(rf"(?<![a-z0-9_])(?:{english})(?![a-z0-9_]) | {_CHINESE[found]}", re.IGNORECASE | re.VERBOSE))
    for found, english in _ENGLISH.items()
]
_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")
_CARD: Final = re.compile(r"(?<![\dA-Za-z])[3-6](?:[ -]?\d){12,18}(?!\d)", re.ASCII)
_IBAN: Final = re.compile(r"(?<![\dA-Za-z])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![\dA-Za-z])", re.ASCII)


def category(value: object, *, named: str | None = None) -> Category | None:
    """Return the sensitive category that a JSON value, or the name that it stands under, belongs to; None for none."""
    if named is not None and (found := _of_name(named)):
        return found
    for name, leaf in _leaves(value):
        if name is not None and (found := _of_name(name)):
            return found
        if leaf is not None and (found := _of_text(leaf)):
            return found
    return None


def _of_name(name: str) -> Category | None:
    words = _SEPARATORS.split(name.lower())
    pairs = ["_".join(pair) for pair in pairwise(words)]
    return next((_BY_NAME[word] for word in (*words, *pairs) if word in _BY_NAME), None)


def _of_text(text: str) -> Category | None:
    for found, rule in _BY_TEXT:
        if rule.search(text):
            return found
    if any(_is_card(match.group()) for match in _CARD.finditer(text)):
        return Category.FINANCIAL
    if any(_is_iban(match.group()) for match in _IBAN.finditer(text)):
        return Category.FINANCIAL
    return None


def _leaves(value: object) -> Iterator[tuple[str | None, str | None]]:
    """Yield the names and the texts in a JSON value. A number may be one of a card."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, None
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield None, value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield None, str(value)


def _is_card(text: str) -> bool:
    """Say whether the check digit is right (ISO/IEC 7812-1, Luhn)."""
    digits = [int(each) for each in text if each.isdigit()][::-1]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[1::2]]
    return len(digits) >= MIN_CARD_DIGITS and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Say whether the check digits are right (ISO 13616)."""
    joined = text.replace(" ", "")
    return int("".join(str(int(each, 36)) for each in joined[4:] + joined[:4])) % 97 == 1
