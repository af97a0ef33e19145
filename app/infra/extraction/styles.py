"""The styles of a DOCX, as far as they say what is a heading and what is numbered."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from app.infra.extraction.package import Attributes, Package

MAX_STYLES_ABOVE: Final = 20
_HEADING: Final = "heading "


@dataclass(slots=True)
class Style:
    """A style of paragraphs: the one it is made from, its level among headings (0 is the first), and its list."""

    above: str = ""
    outline: int | None = None
    list_id: str = ""
    depth: int = 0


class _Reader:
    def __init__(self) -> None:
        self.styles: dict[str, Style] = {}
        self._style = Style()

    def start(self, tag: str, given: Attributes) -> None:
        value, style = given.get("val", ""), self._style
        if tag == "style":
            self._style = Style()
            self.styles[given.get("styleId", "")] = self._style
        elif tag == "name":
            style.outline = _outline(value.lower())
        elif tag == "basedOn":
            style.above = value
        elif tag == "numId":
            style.list_id = value
        elif tag == "outlineLvl" and value.isdecimal():
            style.outline = int(value)
        elif tag == "ilvl" and value.isdecimal():
            style.depth = int(value)


def read_styles(package: Package) -> Mapping[str, Style]:
    """Return the styles by their ids. The ids are of the writer's language, the names are always English."""
    reader = _Reader()
    for part in package.related("styles"):
        package.parse(part, reader.start, lambda _: None, lambda _: None)
    return reader.styles


def chain(styles: Mapping[str, Style], name: str) -> Iterator[Style]:
    """Yield a style and those it is made from, the nearest first."""
    for _ in range(MAX_STYLES_ABOVE):
        style = styles.get(name)
        if style is None:
            return
        yield style
        name = style.above


def _outline(name: str) -> int | None:
    if name == "title":
        return 0
    level = name.removeprefix(_HEADING)
    return int(level) - 1 if name.startswith(_HEADING) and level.isdecimal() and len(level) == 1 else None
