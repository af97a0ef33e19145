"""Any model of sentence-transformers, BAAI/bge-m3 before all, by its name or from a local folder (extra `bge`)."""

import hashlib
import threading
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.infra.embedders.port import EmbedderMisconfiguredError, EmbedderUnavailableError, Vectors
from app.infra.embedders.texts import counted, readable
from app.infra.embedders.vectors import unit_rows

BGE_M3 = "BAAI/bge-m3"
MAX_CHARS = 8_000  # bge-m3 reads 8,192 tokens; a model that reads fewer cuts by itself
_KNOWN_DIMENSIONS = {BGE_M3: 1024}
_BATCH = 16


class SentenceTransformersEmbedder:
    """A model of sentence-transformers, loaded at its first use (bge-m3: 2.3 GB, from the hub's cache or the network).

    One call at a time: the fast tokenizers panic when two threads set truncation or padding at once.
    """

    max_chars = MAX_CHARS

    def __init__(self, model: str, *, revision: str | None = None, device: str | None = None) -> None:
        """Take a name on the hub or the path of a folder; `revision` pins a commit of the hub's."""
        self.name = f"st:{model}"
        self._id = model
        self._pinned = revision
        self._device = device
        self._model: Any = None  # sentence-transformers is an extra, and not there when types are checked
        self._lock = threading.Lock()
        # Looked for now, so that a missing extra shows at the start; imported when loading, since that takes seconds.
        if find_spec("sentence_transformers") is None:
            raise EmbedderMisconfiguredError(
                f"the embedder {self.name} needs the extra `bge`: pip install 'cairn[bge]'"
            )

    @property
    def dimensions(self) -> int:
        known = _KNOWN_DIMENSIONS.get(self._id)
        return known if known is not None else int(self._loaded().get_embedding_dimension())

    @cached_property
    def revision(self) -> str:
        """The pinned commit, else a digest of the folder's files, else the commit that the hub's cache gave."""
        if self._pinned is not None:
            return self._pinned
        folder = Path(self._id)
        if folder.is_dir():
            return _folder_digest(folder)
        commit = getattr(self._loaded()[0].auto_model.config, "_commit_hash", None)
        return str(commit or "unknown")

    def load(self) -> None:
        self._loaded()

    def embed(self, texts: list[str]) -> Vectors:
        model = self._loaded()
        readables = [readable(text, MAX_CHARS) for text in texts]
        with self._lock:
            rows = model.encode(readables, batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(rows, len(texts), self.dimensions)

    def count_tokens(self, text: str) -> int:
        self._loaded()
        return counted(text, self._count)

    def close(self) -> None:
        """Let go of the model, without waiting for a call that still runs: that one holds it."""
        self._model = None

    def _count(self, text: str) -> int:
        with self._lock:
            tokens = self._model.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)
        return len(tokens["input_ids"])

    def _loaded(self) -> Any:  # noqa: ANN401 - see self._model
        with self._lock:
            if self._model is None:
                package = import_module("sentence_transformers")
                try:
                    self._model = package.SentenceTransformer(
                        self._id, revision=self._pinned, device=self._device, trust_remote_code=False
                    )
                except OSError as error:
                    raise EmbedderUnavailableError(
                        f"{self.name}: not in a folder, a cache or a reachable hub"
                    ) from error
            return self._model


def _folder_digest(folder: Path) -> str:
    """Return a digest of the model's files, read whole (bge-m3: some seconds): fine-tuning may touch one layer only."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".md"):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256")
        digest.update(f"{path.relative_to(folder)}\0{content.hexdigest()}\0".encode())
    return digest.hexdigest()[:16]
