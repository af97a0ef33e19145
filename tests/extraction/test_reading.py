"""What is read out of files of every kind: their text, whole, with the headings, pages and tables that are in them."""

import pytest

from app.infra.extraction.builder import TextBuilder
from app.infra.extraction.model import Extracted, Limits, MediaType, RefusedError
from app.infra.extraction.numbering import Level, Numbering
from app.infra.extraction.reading import read
from app.infra.extraction.recognising import UnknownKindError, recognise
from app.infra.extraction.reflow import reflowed
from tests.extraction.files import HEAD, NAMESPACES, document, docx, docx_parts, heading, paragraph, pdf, table, zipped

LEASE = "甲方应当在每月五日前向乙方支付租金。逾期支付的，每日按应付金额的千分之一支付违约金。"
PAGE = "<!doctype html><html><head><title>Lease</title><style>p{color:red}</style></head><body>%s</body></html>"


def read_whole(data: bytes) -> Extracted:
    return read(recognise(data, whole=True), data, Limits())


def titles(found: Extracted) -> list[tuple[int, str]]:
    return [(each.level, found.text[each.start : each.end].strip()) for each in found.layout.headings]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (pdf([["text"]]), MediaType.PDF),
        (b"\n\n" + pdf([["text"]]), MediaType.PDF),
        (docx(paragraph("text")), MediaType.DOCX),
        (PAGE.encode(), MediaType.HTML),
        (PAGE.encode("utf-16"), MediaType.HTML),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- made - by hand -->\n<HTML><body>x", MediaType.HTML),
        (b"<div class='a'><p>One</p></div>", MediaType.HTML),
        (b"<div align=center>\n\n# A project\n\n</div>", MediaType.MARKDOWN),
        (b"a < b and <c>\n", MediaType.TEXT),
        ("品名,单价,数量\n租金,500,12\n押金,1000,1\n".encode("gb18030"), MediaType.CSV),
        (b"name;price\nrent;1,5\n", MediaType.CSV),
        (b"name\tprice\nrent\t500\n", MediaType.CSV),
        (b"1,2,3\n4,5,6\n", MediaType.CSV),
        (b"Dear Anna, dear Ben,\nwe are well, and you?\n", MediaType.TEXT),
        (b"Milk, bread\nEggs, salt\n", MediaType.TEXT),
        (LEASE.encode(), MediaType.TEXT),
        (b"def f(a, b):\n    return a, b\n", MediaType.TEXT),
    ],
)
def test_a_file_is_what_its_content_says(data: bytes, kind: MediaType) -> None:
    assert recognise(data, whole=True) is kind


@pytest.mark.parametrize(
    ("first", "word"), [("mimetype", "OpenDocument"), ("xl/workbook.xml", "spreadsheet"), ("ppt/a.xml", "presentation")]
)
def test_an_archive_that_says_what_it_is_is_named(first: str, word: str) -> None:
    data = zipped({first: "application/vnd.oasis.opendocument.text"})
    data = data.replace(b"mimetype", b"mimetype", 1)
    if first == "mimetype":  # such files store it as it is
        data = b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.text"
    with pytest.raises(UnknownKindError, match=word):
        recognise(data, whole=True)


def test_a_pdf_is_read_with_its_pages() -> None:
    found = read_whole(pdf([["第一条 租金", LEASE[:18]], [], ["Article 2. The deposit is two months' rent."]]))
    assert found.text == f"第一条 租金\n{LEASE[:18]}\nArticle 2. The deposit is two months' rent.\n"
    assert found.layout.pages == (0, 26, 26)


def test_lines_of_a_printed_page_are_joined_where_a_sentence_goes_on() -> None:
    page = (
        "2.1 The tenant shall pay the rent on the fifth day of every sin-\ngle month, and the land-\nlord shall\n"
        "(a) confirm it\n2.2\nLate payments accrue interest\n"
        "甲方应当在每月五日前向乙方支付租金，逾期支付的每日按应付金\n额的千分之一支付违约金。\n第二条 押金"
    )
    assert reflowed(page).split("\n") == [
        "2.1 The tenant shall pay the rent on the fifth day of every single month, and the land-",
        "lord shall",
        "(a) confirm it",
        "2.2",
        "Late payments accrue interest",
        "甲方应当在每月五日前向乙方支付租金，逾期支付的每日按应付金额的千分之一支付违约金。",
        "第二条 押金",
    ]


def test_a_docx_is_read_with_headings_and_tables() -> None:
    body = (
        heading("租赁合同")
        + paragraph(LEASE)
        + heading("Fees", "own")
        + table([["Item", "Price", "Due"], ["Rent", "500", "monthly"], ["Deposit", "1,000", ""]])
        + table([["甲方", "王小明"], ["电话：", "12345"]])
        + paragraph("End.")
    )
    found = read_whole(docx(body))
    assert titles(found) == [(1, "租赁合同"), (2, "Fees")]
    assert found.text.split("\n\n") == [
        "租赁合同",
        LEASE,
        "Fees",
        "| Item | Price | Due\n| Item: Rent | Price: 500 | Due: monthly\n| Item: Deposit | Price: 1,000",
        "| 甲方: 王小明\n| 电话: 12345",
        "End.",
        "",
    ]


def test_nothing_that_a_reader_of_a_docx_sees_is_left_out_and_nothing_else_is_read() -> None:
    control = "<w:sdt><w:sdtPr><w:alias w:val='x'/></w:sdtPr><w:sdtContent>%s</w:sdtContent></w:sdt>"
    box = f"<w:txbxContent>{paragraph('in a box')}</w:txbxContent>"
    run = "<w:r><w:t>%s</w:t></w:r>"
    cells = f"<w:tc>{paragraph('left')}</w:tc>" + control % f"<w:tc>{paragraph('right')}</w:tc>"
    body = (
        control % paragraph("controlled") + f"<w:p>{control % (run % 'inside')}<w:ins>{run % ' inserted'}</w:ins>"
        "<w:del><w:r><w:delText>deleted 110101199003070011</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run % 'moved'}</w:moveFrom>"
        f"<w:r><w:tab/><w:t>tabbed</w:t></w:r><w:hyperlink r:id='x'>{run % ' linked'}</w:hyperlink></w:p>"
        f"<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wps'><wps:txbx>{box}</wps:txbx></mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
        f"<w:tbl><w:tr>{cells}<w:tc>{table([['nested', 'table']])}<w:p/></w:tc></w:tr></w:tbl>"
    )
    notes = f"{HEAD}<w:footnotes {NAMESPACES}><w:footnote>{paragraph('a note')}</w:footnote></w:footnotes>"
    top = f"{HEAD}<w:hdr {NAMESPACES}>{paragraph('Contract 42')}</w:hdr>"
    comments = f"{HEAD}<w:comments {NAMESPACES}><w:comment>{paragraph('psst')}</w:comment></w:comments>"
    found = read_whole(docx(body, footnotes=notes, header=top, comments=comments))
    assert found.text.split("\n\n")[:-1] == [
        "controlled",
        "inside inserted\ttabbed linked",
        "in a box",
        "| left | right | | nested: table",
        "a note",
        "Contract 42",
    ]
    assert "110101199003070011" in found.aside
    assert "psst" in found.aside


def test_the_numbers_that_word_counts_are_read() -> None:
    levels = (("chineseCounting", "第%1条"), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"))
    described = "".join(
        f"<w:lvl w:ilvl='{depth}'><w:start w:val='1'/><w:numFmt w:val='{form}'/><w:lvlText w:val='{text}'/></w:lvl>"
        for depth, (form, text) in enumerate(levels)
    )
    numbering = (
        f"{HEAD}<w:numbering {NAMESPACES}><w:abstractNum w:abstractNumId='7'>{described}</w:abstractNum>"
        "<w:num w:numId='3'><w:abstractNumId w:val='7'/></w:num></w:numbering>"
    )

    def item(depth: int, text: str) -> str:
        return paragraph(text, f"<w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='3'/></w:numPr>")

    body = item(0, "租金") + item(1, "Rent") + item(1, "Late") + item(2, "fee") + item(0, "押金") + item(1, "Deposit")
    assert read_whole(docx(body, numbering=numbering)).text.split() == (
        ["第一条", "租金", "一.1", "Rent", "一.2", "Late", "(a)", "fee", "第二条", "押金", "二.1", "Deposit"]
    )


@pytest.mark.parametrize(
    ("form", "number", "written"),
    [
        *(("chineseCounting", number, text) for number, text in ((1, "一"), (10, "十"), (12, "十二"), (20, "二十"))),
        *(
            ("chineseCounting", number, text)
            for number, text in ((105, "一百零五"), (110, "一百一十"), (1001, "一千零一"))
        ),
        *(("upperRoman", number, text) for number, text in ((4, "IV"), (1994, "MCMXCIV"))),
        *(("lowerLetter", number, text) for number, text in ((26, "z"), (27, "aa"))),
        ("chineseLegalSimplified", 25, "贰拾伍"),
        ("decimalEnclosedCircle", 3, "③"),
        ("decimalZero", 7, "07"),
        ("unheardOf", 7, "7"),
    ],
)
def test_numbers_are_written_as_word_writes_them(form: str, number: int, written: str) -> None:
    assert Numbering({"a": {0: Level(number, form, "%1")}}, {"1": "a"}).next("1", 0) == written


def test_a_docx_in_the_strict_edition_of_the_standard_is_read() -> None:
    strict = document(heading("Lease") + paragraph("Strict.")).replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    found = read_whole(zipped(docx_parts("") | {"word/document.xml": strict}))
    assert (titles(found), found.text) == ([(1, "Lease")], "Lease\n\nStrict.\n\n")


def test_an_html_page_is_read_as_it_is_seen() -> None:
    body = (
        "<h1>Lease</h1><p>The <b>rent</b>\n is&nbsp;due&#8212;<br>monthly.<script>no()</script>"
        "<p>Next<ul><li>one<li>two</ul>"
        "<h2>Fees<!-- 110101199003070011 --></h2><pre>a  b\n  c</pre>"
        "<table><tr><th>Item<th>Price<th>Due<tr><td rowspan=2>Rent<td>500<td>May<tr><td>600<td>June</table>after"
    )
    found = read_whole((PAGE % body).encode())
    assert titles(found) == [(1, "Lease"), (2, "Fees")]
    assert found.text.split("\n\n") == [
        *("Lease", "Lease", "The rent is\xa0due—\nmonthly.", "Next", "one", "two", "Fees", "a  b\n  c"),
        "| Item | Price | Due\n| Item: Rent | Price: 500 | Due: May\n| Item: Rent | Price: 600 | Due: June",
        *("after", ""),
    ]
    assert "110101199003070011" in found.aside


@pytest.mark.parametrize(
    ("encoding", "named"), [("gb18030", "gb2312"), ("big5", "Big5"), ("utf-8", "utf-8"), ("utf-16", "x")]
)
def test_a_page_is_read_in_the_encoding_that_it_names_where_that_is_true(encoding: str, named: str) -> None:
    text = f"<html><head><meta charset='{named}'></head><body>每月五日支付租金</body></html>"
    assert read_whole(text.encode(encoding)).text == "每月五日支付租金\n\n"
    wrong = text.replace(named, "shift_jis", 1).encode("utf-8")
    assert "每月五日支付租金" in read_whole(wrong.replace(b"shift_jis", b"ascii")).text


def test_each_row_of_a_csv_tells_what_its_columns_are() -> None:
    found = read_whole('品名,单价,备注\n租金,500,"每月,五日前"\n\n押金,1000,\n'.encode("gb18030"))
    rows = read_whole(b'name,price\nrent,"5\n00"\n').text
    assert rows == "| name | price\n| name: rent | price: 5 00\n"
    assert found.text.count("\n") == 3
    assert read_whole(b"1,2\n3,4\n").text == "| 1 | 2\n| 3 | 4\n"


def test_no_more_text_is_made_than_is_allowed() -> None:
    builder = TextBuilder(100)
    builder.paragraph("more and more" * 7)
    with pytest.raises(RefusedError, match="too_much_text"):
        builder.paragraph("more and more")
