"""By whose count a prompt keeps within its budget."""

from enum import StrEnum


class Tokenizer(StrEnum):
    """What counts tokens, by the name that a setting or a request gives it."""

    # As the model does that finds memories.
    EMBEDDER = "embedder"
    # As common models do, on the high side: for one whose tokenizer isn't here.
    ESTIMATE = "estimate"
    # One for each byte of UTF-8: no model that reads bytes counts more.
    BYTES = "bytes"
