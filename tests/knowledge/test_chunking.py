"""Chunks: every character is in one, none is larger than the bound, and no cut parts what belongs together."""

import random
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.infra.extraction.model import Heading, Layout, MediaType
from app.knowledge.chunking import MAX_BYTES, OVERLAP_BYTES, chunk
from app.knowledge.model import Chunk

CONTRACT_ZH = "".join(
    f"第{number}条\n甲方应当在每月五日前向乙方支付租金人民币{number}000元。逾期支付的，每日按应付金额的千分之一支付违约金；"
    f"逾期超过三十日的，乙方有权解除合同。（一）押金为两个月租金。（二）水电费由甲方承担。\n"
    for number in "一二三四五六七八九十"
)
ARTICLES = "".join(
    f"\nArticle {number}.\nThe parties agree to the terms of annex {number}. " + "They sign it. " * 20
    for number in range(30)
)
ITEMS_ZH = "".join(f"{number}、\n双方同意附件{number}的条款。" + "双方签字盖章后生效。" * 9 for number in range(1, 40))
CONTRACT_EN = "".join(
    f"{number}.{part} The tenant shall pay the rent of {number},500 euros on the fifth day of each month. Late "
    f"payments accrue interest at one percent. (a) The deposit is two months' rent. "
    f"(b) Utilities are paid by the tenant.\n\n"
    for number in range(1, 5)
    for part in range(1, 9)
)
PIECES = st.sampled_from(
    [
        *("# Rent\n", "## 2.1 Deposit\n", "### \n", "Title\n=====\n", "```\ncode # no heading\n```\n", "第一章 总则\n"),
        *("1. ", "3.2 ", "(a) ", "（一）", "第三条", "Article 5. ", "- item\n", "| a | b |\n|---|---|\n"),
        *(
            "The tenant pays. ",
            "甲方应当支付租金。",
            "Does it? Yes! ",
            "e.g. this, ",
            "U.S. law\n",
            "12.5 % of 1,000. ",
        ),
        *(
            "\n",
            "\n\n",
            " ",
            "\t",
            "\r\n",
            "x" * 1500,
            "汉" * 700,
            " " * 1300,
            "é\u0301",
            "👩\u200d👩\u200d👧",
            "。",
            "\u2028",
        ),
    ],
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=40).map("".join),
    st.text(max_size=3000),
    st.sampled_from([CONTRACT_ZH, CONTRACT_EN]),
)
KINDS = st.sampled_from(MediaType)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _new(chunks: list[Chunk]) -> list[tuple[int, int]]:
    """Return what each chunk adds to those before it."""
    spans, last = [], 0
    for each in chunks:
        spans.append((max(last, each.location.start), each.location.end))
        last = each.location.end
    return spans


@settings(max_examples=300, deadline=None)
@given(TEXTS, KINDS)
def test_every_character_is_in_a_chunk_and_every_chunk_is_where_it_says(text: str, kind: MediaType) -> None:
    chunks = chunk(text, kind)
    assert all(text[each.location.start : each.location.end] == each.text for each in chunks)
    spans = _new(chunks)
    assert [start for start, _ in spans] == ([0] + [end for _, end in spans])[: len(spans)]
    assert not text.strip() or spans[-1][1] == len(text)


@settings(max_examples=200, deadline=None)
@given(TEXTS, KINDS)
def test_a_chunk_is_bounded_and_nothing_of_the_text_is_dropped_for_it(text: str, kind: MediaType) -> None:
    assert all(0 < _bytes(each.text) <= MAX_BYTES + OVERLAP_BYTES for each in chunk(text, kind))


@settings(max_examples=100, deadline=None)
@given(TEXTS, KINDS)
def test_the_same_text_has_the_same_chunks(text: str, kind: MediaType) -> None:
    assert chunk(text, kind) == chunk(text, kind)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u3000"])
def test_a_text_of_white_space_has_no_chunks(text: str) -> None:
    assert chunk(text, MediaType.TEXT) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (CONTRACT_ZH, r"(?:第.条|（.）)\s*$"),
        (CONTRACT_EN, r"(?:\d\.\d|\([ab]\))\s*$"),
        (re.sub(r"(\d\.\d) ", r"\1\n", CONTRACT_EN), r"(?:\d\.\d|\([ab]\))\s*$"),
        (ARTICLES, r"Article \d+\.\s*$"),
        (ITEMS_ZH, r"\d、\s*$"),
    ],
    ids=["zh", "en", "en, numbers on lines of their own", "articles", "zh, numbers on lines of their own"],
)
def test_no_cut_comes_between_a_clause_number_and_its_text(text: str, number: str) -> None:
    chunks = chunk(text, MediaType.TEXT)
    assert len(chunks) > 2
    assert [each.text[-20:] for each in chunks if re.search(number, each.text)] == []


def test_chunks_begin_and_end_with_sentences() -> None:
    chunks = chunk(CONTRACT_ZH, MediaType.TEXT)
    assert all(each.text.rstrip().endswith(("。", "；")) for each in chunks)
    assert len(chunks) > 2


def test_a_chunk_repeats_the_last_sentences_of_the_one_before() -> None:
    text = "".join(f"Sentence number {n} says something short. " for n in range(100))
    chunks = chunk(text, MediaType.TEXT)
    overlaps = [one.location.end - other.location.start for one, other in pairwise(chunks)]
    assert all(0 < overlap <= OVERLAP_BYTES for overlap in overlaps)
    assert all(each.text.startswith("Sentence number") for each in chunks)


def test_chunks_lie_along_headings() -> None:
    text = (
        "# Lease\n\n## Rent\nThe rent is due.\n\n## Deposit\n### Amount\nTwo months.\n\nNotice\n------\nThree months.\n"
    )
    found = [(each.location.headings, each.text) for each in chunk(text, MediaType.MARKDOWN)]
    assert found == [
        (("Lease", "Rent"), "# Lease\n\n## Rent\nThe rent is due.\n\n"),
        (("Lease", "Deposit", "Amount"), "## Deposit\n### Amount\nTwo months.\n\n"),
        (("Lease", "Notice"), "Notice\n------\nThree months.\n"),
    ]


def test_a_number_sign_in_plain_text_or_code_is_no_heading() -> None:
    assert [each.location.headings for each in chunk("# a comment\nx = 1\n", MediaType.TEXT)] == [()]
    fenced = "```sh\n# a comment\nls\n```\n"
    assert [each.location.headings for each in chunk(fenced, MediaType.MARKDOWN)] == [()]


def test_chinese_chapters_are_headings_in_plain_text() -> None:
    text = "第一章 总则\n第一条 为了规范租赁。\n第二章 租金\n第一节 支付\n第二条 租金按月支付。\n"
    found = [each.location.headings for each in chunk(text, MediaType.TEXT)]
    assert found == [("第一章 总则",), ("第二章 租金", "第一节 支付")]


def test_a_heading_stays_with_what_follows_it() -> None:
    text = "# Rent\n" + "The tenant pays on time and in full, every month of the year. " * 60
    first = chunk(text, MediaType.MARKDOWN)[0].text
    assert first.startswith("# Rent\nThe tenant pays")


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("1.\n", 40_000),
        ("x", 400_000),
        (" ", 300_000),
        ("[", 200_000),
        ("a\n\n", 60_000),
        ("汉。", 60_000),
        ("# \n", 50_000),
    ],
)
def test_the_work_grows_with_the_text_and_no_faster(unit: str, times: int) -> None:
    """Each of these took minutes with a step that looks back at all that came before."""
    text = unit * times + "end"
    chunks = chunk(text, MediaType.MARKDOWN)
    assert chunks[-1].location.end == len(text)


ZH_SENTENCES = (
    "甲方应当在每月五日前向乙方支付租金人民币28,500元。",
    "未经甲方书面同意，乙方不得改变用途；擅自改变的，甲方有权解除合同。",
    "逾期支付的，每逾期一日，按应付金额的0.05%支付违约金。",
    "本条适用于第3.2条规定的情形，由上海仲裁委员会仲裁。",
)
EN_SENTENCES = (
    "Fees are payable within 30 days of receipt of a valid invoice. ",
    "Late amounts bear interest at 1.5% per month or the maximum permitted by law, whichever is lower. ",
    "The Supplier shall comply with Mr. Smith's site rules, e.g. those in Schedule 2. ",
    "Section 7.1 applies as if it were set out here. ",
)
NUMBERS_ZH = ["第{n}条 ", "第{n}条\n", "第{n}条\u3000总则\n", "{n}.1 ", "{n}、", "（{n}）", "({n})\n", "{n}.2.1 付款\n"]
NUMBERS_EN = [
    "Article {n}. ",
    "ARTICLE {n}\n",
    "Section {n}. Fees\n\n",
    "{n}.1 ",
    "{n}.2\n",
    "(a) ",
    "(iv)\n",
    "§ {n} Fees\n",
]


def contract(seed: int) -> tuple[str, list[tuple[int, int]]]:
    """Return a contract, and of each of its clauses where its number stands and where its text begins."""
    dice = random.Random(seed)  # noqa: S311 - a contract, not a secret
    numbers, said = dice.choice([(NUMBERS_ZH, ZH_SENTENCES), (NUMBERS_EN, EN_SENTENCES)])
    text, places = dice.choice(["", "房屋租赁合同\n\n", "MASTER SERVICES AGREEMENT\n\n"]), []
    for number in range(1, dice.randint(2, 40)):
        start = len(text)
        text += dice.choice(numbers).format(n=number)
        places.append((start, len(text)))
        text += "".join(dice.choices(said, k=dice.randint(1, 9)))
        text = text.rstrip() + dice.choice(["\n", "\n\n"])
    return text, places


@pytest.mark.parametrize("kind", [MediaType.TEXT, MediaType.MARKDOWN, MediaType.CSV])
def test_no_clause_of_a_contract_is_parted_from_its_number(kind: MediaType) -> None:
    """The contracts know where their clauses begin: it isn't asked of the rules that cut them. CSV has no headings."""
    parted = []
    for text, places in map(contract, range(60)):
        cuts = sorted({place for each in chunk(text, kind) for place in (each.location.start, each.location.end)})
        parted += [text[start : begin + 9] for start, begin in places for cut in cuts if start < cut <= begin]
    assert parted == []


PLACES = st.lists(st.integers(0, 2000), max_size=9)
SAID = st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 6)), max_size=9)


@settings(max_examples=100, deadline=None)
@given(TEXTS, KINDS, PLACES, SAID)
def test_headings_and_pages_that_the_file_names_cover_every_character_too(
    text: str, kind: MediaType, starts: list[int], said: list[tuple[int, int]]
) -> None:
    pages = tuple(sorted(min(start, len(text)) for start in [0, *starts]))
    headings, end = [], 0
    for place, level in sorted(said):
        line = text.find("\n", max(place, end))
        if line >= 0:
            begin = text.rfind("\n", 0, line) + 1
            if begin >= end:
                headings.append(Heading(begin, line + 1, level))
                end = line + 1
    chunks = chunk(text, kind, Layout(tuple(headings), pages))
    spans = _new(chunks)
    assert [start for start, _ in spans] == ([0] + [end for _, end in spans])[: len(spans)]
    assert not text.strip() or spans[-1][1] == len(text)
    for each in chunks:
        page, end_page = each.location.page, each.location.end_page
        assert page is not None
        assert end_page is not None
        assert pages[page - 1] <= each.location.start
        assert page == len(pages) or each.location.start < pages[page]
        assert pages[end_page - 1] < each.location.end


def test_articles_with_a_title_are_headings_and_those_in_a_sentence_are_not() -> None:
    text = (
        "第一条  房屋\n1.1 甲方出租房屋。\n第二条　租金、押金\n2.1 按月支付。\n"
        "依照\n第一条 执行\n第三条 甲方应当支付租金。\n"
        "ARTICLE II\nSERVICES\n2.1 Scope. As stated in\nSection 7.1\nthe supplier works.\n\n§ 3 Fees\nNone.\n"
    )
    found = [each.location.headings for each in chunk(text, MediaType.TEXT)]
    assert found == [("第一条  房屋",), ("第二条　租金、押金",), ("ARTICLE II",), ("§ 3 Fees",)]


def test_rows_of_a_table_are_cut_between_and_not_inside() -> None:
    text = "".join(
        f"| name: item {number} | price: {number},500 euros | place: shelf {number}\n" for number in range(200)
    )
    chunks = chunk(text, MediaType.CSV)
    assert len(chunks) > 5
    assert all(each.text.startswith("| name: item") and each.text.endswith("\n") for each in chunks)
