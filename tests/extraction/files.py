"""Files of every kind that is read, made byte by byte: real ones, and ones that nobody should have to read."""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from html import escape

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
MAIN = f"{WORD}.document.main+xml"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:r="{OFFICE}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)
STYLES = (
    f"{HEAD}<w:styles {NAMESPACES}>"
    '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="own"><w:name w:val="Firm"/><w:basedOn w:val="2"/></w:style></w:styles>'
)


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    runs = f"<w:r><w:t xml:space='preserve'>{escape(text)}</w:t></w:r>"
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{runs}</w:p>"


def heading(text: str, style: str = "1") -> str:
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')


def table(rows: Sequence[Sequence[str]]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def document(body: str, before: str = "") -> str:
    return f"{HEAD}{before}<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"


def docx_parts(body: str, **others: str) -> dict[str, str | bytes]:
    """Return the parts of a document; `others` are parts that the main one names, by their kind (`numbering`)."""
    named = {"styles": STYLES, **others}
    relations = "".join(f'<Relationship Id="r{kind}" Type="{OFFICE}/{kind}" Target="{kind}.xml"/>' for kind in named)
    return {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/word/document.xml" ContentType="{MAIN}"/></Types>',
        "_rels/.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{relations}'
        f'<Relationship Id="n" Type="{OFFICE}/image" Target="NULL"/>'
        f'<Relationship Id="t" Type="{OFFICE}/hyperlink" Target="#_top"/>'
        f'<Relationship Id="x" Type="{OFFICE}/styles" Target="https://example.com/s" TargetMode="External"/>'
        "</Relationships>",
        "word/document.xml": document(body),
        **{f"word/{kind}.xml": part for kind, part in named.items()},
    }


def docx(body: str, **others: str) -> bytes:
    return zipped(docx_parts(body, **others))


def pdf_of(objects: Sequence[bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """Return a PDF of these objects, the first with number 1, and with a table of where they are."""
    file = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    file += b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(file + b"trailer\n<</Size %d %b>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, start))


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<</Length %d %b>>\nstream\n%b\nendstream" % (len(data), more, data)


def deflated(data: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        data = zlib.compress(data, 9)
    return stream(data, b"/Filter [%b]" % (b"/FlateDecode " * times))


def shown(lines: Sequence[str]) -> bytes:
    """Return what a page says, in a font of Chinese and Latin characters that isn't embedded."""
    said = b"".join(b"<%b> Tj 0 -18 Td " % line.encode("utf-16-be").hex().encode() for line in lines)
    return b"BT /F1 12 Tf 50 780 Td " + said + b"ET"


FONT = (
    b"<</Type/Font/Subtype/Type0/BaseFont/STSong-Light/Encoding/UniGB-UCS2-H/DescendantFonts[<</Type/Font"
    b"/Subtype/CIDFontType0/BaseFont/STSong-Light/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 4>>"
    b"/DW 1000>>]>>"
)


def pdf(pages: Sequence[Sequence[str]], trailer: bytes = b"/Root 1 0 R") -> bytes:
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, len(pages)), FONT]
    for number, lines in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % (5 + 2 * number)
        )
        objects.append(stream(shown(lines)))
    return pdf_of(objects, trailer)


def one_page(contents: bytes, resources: bytes = b"", *others: bytes) -> bytes:
    """Return a PDF whose only page has this stream; `others` are the objects from number 5 on."""
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<%b>>/Contents 4 0 R>>" % resources
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", pages, page, contents, *others])
