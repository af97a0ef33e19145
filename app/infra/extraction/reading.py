"""The text of a whole file of any kind that is read. Pure; what calls it bounds its time and memory."""

import re
from typing import Final

from app.infra.extraction.builder import TextBuilder
from app.infra.extraction.encodings import Decoded, decode
from app.infra.extraction.model import Extracted, Limits, MediaType, Refusal, RefusedError
from app.infra.extraction.of_csv import add_csv
from app.infra.extraction.of_html import add_html

# Where browsers look for what a page says of its encoding.
DECLARED_WITHIN_BYTES: Final = 4 * 1024
_DECLARED: Final = re.compile(
    rb"<(?:meta\b[^>]{0,500}?charset|\?xml\b[^>]{0,200}?encoding)\s*=\s*[\"']?([a-zA-Z0-9_-]{1,40})"
)
# What pages call a smaller set than they use.
_MEANT: Final = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "big5": "big5hkscs"}


def read(media_type: MediaType, data: bytes, limits: Limits) -> Extracted:
    """Return the text of a file. Raises RefusedError, and where a library fails on a file, whatever that raises."""
    if media_type in {MediaType.TEXT, MediaType.MARKDOWN}:
        decoded = decode(data)
        return Extracted(decoded.text, decoded.encoding)
    builder = TextBuilder(limits.text_bytes)
    encoding, aside = None, ""
    if media_type is MediaType.PDF:
        from app.infra.extraction.of_pdf import add_pdf  # noqa: PLC0415 - heavy, and needed for this kind alone

        add_pdf(builder, data, limits)
    elif media_type is MediaType.DOCX:
        from app.infra.extraction.of_docx import add_docx  # noqa: PLC0415 - the same

        aside = add_docx(builder, data, limits)
    else:
        decoded = _page(data) if media_type is MediaType.HTML else decode(data)
        encoding = decoded.encoding
        add = add_html if media_type is MediaType.HTML else add_csv
        add(builder, decoded.text)
        aside = decoded.text if media_type is MediaType.HTML else ""
    text, layout = builder.built()
    if not text.strip():
        raise RefusedError(Refusal.NO_TEXT)
    return Extracted(text, encoding, layout, aside)


def _page(data: bytes) -> Decoded:
    """Return the text of a page in the encoding that it names, where that is true."""
    found = _DECLARED.search(data, 0, DECLARED_WITHIN_BYTES)
    if found is None or data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        return decode(data)
    name = found[1].decode().lower()
    try:
        return Decoded(data.decode(_MEANT.get(name, name)), name)
    except (UnicodeDecodeError, LookupError):
        return decode(data)
