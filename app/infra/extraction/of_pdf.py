"""The text of a PDF, page by page."""

import io
import logging
import re
import unicodedata
from typing import Final

from pypdf import PdfReader
from pypdf.errors import LimitReachedError, PyPdfError

from app.infra.extraction.builder import TextBuilder
from app.infra.extraction.model import Limits, Refusal, RefusedError
from app.infra.extraction.reflow import reflowed

# Fonts made in China name the strokes of a character where they mean the character; others ligatures.
_STAND_INS: Final = re.compile("[\u2e80-\u2fd5\ufb00-\ufb06]")


class _Skipped(logging.Handler):
    """Hears of what pypdf leaves out of a page and only warns of: a text without it would be cut silently."""

    def __init__(self) -> None:
        super().__init__()
        self.reason: Refusal | None = None

    def emit(self, record: logging.LogRecord) -> None:
        message = str(record.msg)
        if message.startswith("Exceeded"):
            self.reason = Refusal.TOO_COMPLEX
        elif message.startswith("Impossible to decode XFormObject"):
            self.reason = Refusal.UNPACKS_TOO_LARGE if "Limit reached" in record.getMessage() else Refusal.MALFORMED


def add_pdf(builder: TextBuilder, data: bytes, limits: Limits) -> None:
    """Add the text of each page, then what was filled into the fields of a form."""
    skipped = _Skipped()
    logging.getLogger("pypdf").addHandler(skipped)
    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        # One that only its owner's password protects is read by everybody.
        if reader.is_encrypted and not reader.decrypt(""):
            raise RefusedError(Refusal.ENCRYPTED)
        # What it says first: the pages of one that says the truth needn't be counted.
        if _said(reader) > limits.pages or len(reader.pages) > limits.pages:
            raise RefusedError(Refusal.TOO_MANY_PAGES)
        for page in reader.pages:
            builder.page()
            builder.lines(reflowed(_characters(page.extract_text())))
            if skipped.reason:
                raise RefusedError(skipped.reason)
        fields = reader.get_form_text_fields() or {}
    except LimitReachedError as error:
        raise RefusedError(Refusal.UNPACKS_TOO_LARGE) from error
    except PyPdfError as error:
        raise RefusedError(Refusal.MALFORMED) from error
    for name, value in fields.items():
        if value:
            builder.lines(f"{name}: {value}")


def _said(reader: PdfReader) -> int:
    pages = reader.root_object.get("/Pages")
    count = pages.get_object().get("/Count") if pages is not None else None
    return count if isinstance(count, int) else 0


def _characters(text: str) -> str:
    return _STAND_INS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
