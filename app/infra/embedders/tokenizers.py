"""What counts the tokens of a prompt: the embedder's own tokenizer, or what another model can be held to."""

from collections.abc import Callable, Mapping

from app.core.tokens import Tokenizer
from app.infra.embedders.texts import estimated_tokens

Count = Callable[[str], int]


def counts(of_embedder: Count, default: Tokenizer) -> Mapping[str | None, Count]:
    """Return what counts, by name; None is what nobody has named."""
    named: dict[str | None, Count] = {
        Tokenizer.EMBEDDER: of_embedder,
        Tokenizer.ESTIMATE: estimated_tokens,
        Tokenizer.BYTES: utf8_bytes,
    }
    return named | {None: named[default]}


def utf8_bytes(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
