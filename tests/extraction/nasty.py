"""Files that nobody should have to read, each with what is answered: the reason, or a word that is in its text.

None stands here as bytes: each is made. A name and a number say where one of the kind was reported.
"""

import io
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Final

from pypdf import PdfReader, PdfWriter

from app.infra.extraction.model import MediaType, Refusal
from tests.extraction.files import (
    HEAD,
    MAIN,
    PACKAGE,
    deflated,
    document,
    docx,
    docx_parts,
    one_page,
    paragraph,
    pdf,
    pdf_of,
    stream,
    zipped,
)

MIB: Final = 1024 * 1024
PAGE: Final = ["The tenant shall pay the rent."]
FONT: Final = b"/Font<</F1 5 0 R>>"
HELVETICA: Final = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
ANY: Final = "an answer"
Expected = Refusal | str
R = Refusal


def encrypted(user: str) -> bytes:
    writer, file = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf([PAGE])))), io.BytesIO()
    writer.encrypt(user, "the owner's", algorithm="RC4-128")
    writer.write(file)
    return file.getvalue()


@cache
def zeros() -> bytes:
    return bytes(80 * MIB)


def many_pages() -> bytes:
    kids = b"<</Type/Pages/Kids[%b]/Count 10000>>" % (b"3 0 R " * 10_000)
    return pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", kids, b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"])


def more_pages_than_it_says() -> bytes:
    return pdf([[]] * 300).replace(b"/Count 300", b"/Count   1")


def pages_in_a_circle() -> bytes:
    kids = [b"<</Type/Pages/Kids[%d 0 R]/Count 1/Parent 2 0 R>>" % number for number in (3, 4, 5, 3)]
    return pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", *kids])


def tables_in_a_circle() -> bytes:
    file = pdf([PAGE])
    start = file.rindex(b"startxref\n") + 10
    return file.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev " + file[start:].split()[0])


def form_in_itself() -> bytes:
    form = stream(b"/X0 Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X0 5 0 R>>>>")
    return one_page(stream(b"/X0 Do"), b"/XObject<</X0 5 0 R>>", form)


def forms_of_forms() -> bytes:
    """Each form shows the next one ten times: 10 to the 12th words from 13 objects."""
    forms = [
        stream(
            b"/X0 Do " * 10,
            b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X0 %d 0 R>>>>" % (number + 1),
        )
        for number in range(5, 17)
    ]
    return one_page(stream(b"/X0 Do"), b"/XObject<</X0 5 0 R>>", *forms, stream(b"", b"/Subtype/Form/BBox[0 0 9 9]"))


def wide_map() -> bytes:
    """A font whose table of characters has a range of four thousand million."""
    codes = b"1 begincodespacerange <00000000> <FFFFFFFF> endcodespacerange "
    cmap = codes + b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange"
    font = b"<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/ToUnicode 6 0 R/DescendantFonts[7 0 R]>>"
    below = b"<</Type/Font/Subtype/CIDFontType2/BaseFont/A/CIDSystemInfo<</Registry(A)/Ordering(B)/Supplement 0>>>>"
    return one_page(stream(b"BT /F1 9 Tf <00410042> Tj ET"), FONT, font, stream(cmap), below)


def word(body: str, before: str) -> bytes:
    return zipped(docx_parts("") | {"word/document.xml": document(body, before)})


def lied(parts: dict[str, str | bytes]) -> bytes:
    """Return an archive that says of each part that it has one byte."""
    file = bytearray(zipped(parts))
    place = file.find(b"PK\x01\x02")
    while place >= 0:
        file[place + 24 : place + 28] = (1).to_bytes(4, "little")
        place = file.find(b"PK\x01\x02", place + 4)
    return bytes(file)


def many_entries() -> bytes:
    return zipped({**docx_parts(paragraph("text")), **{f"word/media/{number}": b"" for number in range(10_001)}})


def with_password() -> bytes:
    file = bytearray(docx(paragraph("text")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = file.find(mark)
        while place >= 0:
            file[place + offset] |= 1
            place = file.find(mark, place + 4)
    return bytes(file)


def macro_type() -> bytes:
    types = docx_parts("")["[Content_Types].xml"]
    assert isinstance(types, str)
    macro = types.replace(MAIN, "application/vnd.ms-word.document.macroEnabled.main+xml")
    return zipped(docx_parts(paragraph("text")) | {"[Content_Types].xml": macro})


def spreadsheet() -> bytes:
    types = f'{HEAD}<Types xmlns="{PACKAGE}/content-types"/>'
    return zipped({"[Content_Types].xml": types, "xl/workbook.xml": "<workbook/>"})


def stored(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


LAUGHS: Final = (
    "<!DOCTYPE w [<!ENTITY a 'ha'>"
    + "".join(f"<!ENTITY {chr(98 + number)} '{f'&{chr(97 + number)};' * 10}'>" for number in range(9))
    + "]>"
)
OUTSIDE: Final = "<!DOCTYPE w [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"
DEEP_TABLE: Final = "<w:tbl><w:tr><w:tc>" * 2_000 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 2_000

PDFS: Final[dict[str, tuple[Callable[[], bytes], Expected]]] = {
    "with a password": (lambda: encrypted("secret"), R.ENCRYPTED),
    "with the owner's password alone": (lambda: encrypted(""), "tenant"),
    "10,000 pages": (many_pages, R.TOO_MANY_PAGES),
    "300 pages that say they are one": (more_pages_than_it_says, R.TOO_MANY_PAGES),
    "a page that unpacks to 80 MiB": (lambda: one_page(deflated(zeros()), FONT, HELVETICA), R.UNPACKS_TOO_LARGE),
    "packed three times": (lambda: one_page(deflated(zeros(), times=3), FONT, HELVETICA), R.UNPACKS_TOO_LARGE),
    "nothing after its signature": (lambda: b"%PDF-1.7\n", R.MALFORMED),
    "noise after its signature": (lambda: b"%PDF-1.7\n" + zeros()[:5000].replace(b"\0", b"\xa7"), R.MALFORMED),
    "half of a file": (lambda: (file := pdf([PAGE] * 3))[: len(file) // 2], ANY),
    "no table of its objects": (lambda: pdf([PAGE]).replace(b"xref\n0", b"none\n0"), "tenant"),
    "pypdf 3847: pages in a circle": (pages_in_a_circle, R.MALFORMED),
    "pypdf 3654: tables in a circle": (tables_in_a_circle, "tenant"),
    "pypdf 966: a form in itself": (form_in_itself, ANY),
    "forms of forms of forms": (forms_of_forms, R.TOO_COMPLEX),
    "pypdf 3112: a length that is its own": (
        lambda: one_page(b"<</Length 4 0 R>>\nstream\nBT ET\nendstream"),
        ANY,
    ),
    "pypdf 329: an image without its end": (lambda: one_page(stream(b"BI /W 9 /H 9 ID " + b"x" * 9_000)), ANY),
    "arrays in arrays, 100,000 deep": (lambda: one_page(stream(b"[" * 100_000 + b"]" * 100_000 + b" TJ")), ANY),
    "a catalogue 100,000 deep": (
        lambda: pdf_of([b"<</Type/Catalog/Pages 2 0 R/A " + b"[" * 100_000 + b"]" * 100_000 + b">>"]),
        ANY,
    ),
    "a font with a range of 2**32": (wide_map, ANY),
    "an image alone": (
        lambda: one_page(
            stream(b"/I Do"),
            b"/XObject<</I 5 0 R>>",
            stream(b"\0" * 64, b"/Subtype/Image/Width 8/Height 8/ColorSpace/DeviceGray/BitsPerComponent 8"),
        ),
        R.NO_TEXT,
    ),
    "no pages": (lambda: pdf([]), R.NO_TEXT),
    "no catalogue": (lambda: pdf_of([b"null"]), R.MALFORMED),
}
DOCX_FILES: Final[dict[str, tuple[Callable[[], bytes], Expected]]] = {
    "macros": (lambda: zipped(docx_parts(paragraph("text")) | {"word/vbaProject.bin": b"x"}), R.MACROS),
    "the type of a document with macros": (macro_type, R.MACROS),
    "a billion laughs": (lambda: word(paragraph("&j;").replace("&amp;", "&"), LAUGHS), R.MALFORMED),
    "a file of the server's as an entity": (
        lambda: word(paragraph("&e;").replace("&amp;", "&"), OUTSIDE),
        R.MALFORMED,
    ),
    "one that unpacks to 80 MiB": (
        lambda: zipped(docx_parts(paragraph("text")) | {"word/media/image1.png": zeros()}),
        R.UNPACKS_TOO_LARGE,
    ),
    "one that says it unpacks to a byte": (lambda: lied(docx_parts(paragraph("text"))), R.MALFORMED),
    "10,000 parts": (many_entries, R.UNPACKS_TOO_LARGE),
    "an archive with a password": (with_password, R.ENCRYPTED),
    "a spreadsheet": (spreadsheet, R.UNSUPPORTED),
    "an archive of anything": (lambda: stored("notes.txt", b"text"), R.UNSUPPORTED),
    "an empty archive": (lambda: zipped({}), R.UNSUPPORTED),
    "half of an archive": (lambda: (file := docx(paragraph("text")))[: len(file) // 2], R.MALFORMED),
    "no XML": (lambda: zipped(docx_parts("") | {"word/document.xml": b"no XML"}), R.MALFORMED),
    "XML that breaks off": (
        lambda: zipped(docx_parts("") | {"word/document.xml": document(paragraph("text"))[:-20]}),
        R.MALFORMED,
    ),
    "tables in tables, 2,000 deep": (lambda: docx(DEEP_TABLE), R.TOO_COMPLEX),
    "nothing in it": (lambda: docx("<w:p/>"), R.NO_TEXT),
    "cells over 10**9 columns": (
        lambda: docx(
            "<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='1000000000'/></w:tcPr>"
            + paragraph("wide")
            + "</w:tc></w:tr></w:tbl>"
        ),
        "wide",
    ),
    "python-docx 678 and 1351: relations to nowhere": (lambda: docx(paragraph("still read")), "still read"),
}
OTHERS: Final[dict[str, tuple[MediaType, Callable[[], bytes], Expected]]] = {
    "HTML 100,000 deep": (
        MediaType.HTML,
        lambda: b"<html>" + b"<i><p>" * 50_000 + b"deep",
        "deep",
    ),
    "HTML tables 10,000 deep": (MediaType.HTML, lambda: b"<html>" + b"<table><tr><td>" * 10_000 + b"deep", ANY),
    "cpython 102555: odd comments": (MediaType.HTML, lambda: b"<html><!--><p>after</p>--><![CDATA[x]]><![if x]>", ANY),
    "HTML of scripts": (MediaType.HTML, lambda: b"<html><script>" + b"a < b;" * 99 + b"</script>", R.NO_TEXT),
    "HTML with cells over 10**9 rows": (
        MediaType.HTML,
        lambda: b"<html><table><tr><td rowspan=1000000000 colspan=1000000000>wide<td>b<tr><td>c</table>",
        "wide",
    ),
    "CSV with one cell of 2 MiB": (
        MediaType.CSV,
        lambda: b'name,text\nlong,"' + b"All work and no play. " * (MIB // 12) + b'end"\n',
        "play. end",
    ),
    "CSV whose quote never ends": (MediaType.CSV, lambda: b'a,b\n1,"' + b"x,y\n" * 100_000, "x,y"),
    "CSV whose names outgrow it": (
        MediaType.CSV,
        lambda: b",".join(b"column number %d" % n for n in range(1_000)) + b"\n" + (b"1," * 1_000 + b"\n") * 300,
        R.TOO_MUCH_TEXT,
    ),
    "2 MiB of noise": (MediaType.TEXT, lambda: bytes(range(256)) * 8 * 1024, R.NOT_TEXT),
}
