"""What is never inferred is told by rules in both languages; a topic, a wish or a place is none of it."""

import pytest

from app.core.text.sensitive import Category, category

SENSITIVE: dict[Category, list[object]] = {
    Category.HEALTH: [
        "I was diagnosed with asthma",
        "she is pregnant",
        "allergic to nuts",
        "我患有糖尿病",
        "他对花生过敏",
        "我懷孕了",
    ],
    Category.BELIEF: [
        "he is a devout Christian",
        "I'm Muslim",
        "goes to church every Sunday",
        "我是佛教徒",
        "他的信仰",
    ],
    Category.BIOMETRIC: ["the hash of her fingerprint", "声纹已登记", "an iris scan"],
    Category.SEXUAL: ["I'm gay", "我是gay，住在北京", "her sexual orientation", "他是同性恋"],
    Category.POLITICAL: ["I voted for the Greens", "member of the Labour party", "他是党员", "政治立场偏左"],
    Category.FINANCIAL: [
        "card 4111 1111 1111 1111",
        "卡是4111111111111111吗",
        "GB82 WEST 1234 5698 7654 32",
        "my account number is 12",
        "我的银行卡号是62220001",
        4111111111111111,
    ],
    Category.MINORS: [
        "my 6-year-old daughter",
        "their little son",
        "我女儿喜欢画画",
        "他今年12岁",
        "a 12 year old boy",
    ],
}
HARMLESS = [
    "en-GB",
    "zh-CN",
    "likes tea in the morning",
    "不要发邮件，请用中文回答",
    "window seat",
    True,
    None,
    3.5,
    20261130,
    "interested in the history of medicine",
    "reads news about politics",
    "喜欢看政治新闻",
    "32岁",
    "born in 1990",
    "paid by credit card",
    "4111 1111 1111 1112",
    "order 1234567890123",
    "a gayer colour",
    "the son of the sky temple",
    "Christian is my manager",
    "GB00 WEST 1234 5698 7654 32",
    "用户名和密码",
    "卡号[银行卡号已隐去]，12月",
    "my card number is [bank card number removed]",
    "where do I find my account number?",
    {"theme": ["dark", {"size": 12}]},
]
NAMES = {
    "health.allergies": Category.HEALTH,
    "user.religion": Category.BELIEF,
    "sexual-orientation": Category.SEXUAL,
    "payment.credit_card": Category.FINANCIAL,
    "bank.account": Category.FINANCIAL,
    "family.children": Category.MINORS,
    "voting": Category.POLITICAL,
    "face-id": Category.BIOMETRIC,
}


@pytest.mark.parametrize(("expected", "text"), [(each, text) for each, texts in SENSITIVE.items() for text in texts])
def test_what_is_said_of_a_person_is_told(expected: Category, text: object) -> None:
    assert category(text) is expected
    assert category({"deep": [{"down": text}]}) is expected


@pytest.mark.parametrize("value", HARMLESS, ids=str)
def test_a_topic_or_a_wish_is_none(value: object) -> None:
    assert category(value) is None


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_a_name_tells_it_too(name: str, expected: Category) -> None:
    assert category("x", named=name) is expected
    assert category({name: "x"}) is expected


@pytest.mark.parametrize("name", ["language", "answer.style", "version.minor", "seat.window", "diet", "bank.holiday"])
def test_other_names_are_harmless(name: str) -> None:
    assert category("x", named=name) is None
