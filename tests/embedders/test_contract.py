"""What every embedder promises, the fake one too."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.infra.embedders.port import Embedder, Vectors
from app.infra.embedders.texts import COUNTED_CHARS

TEXTS = [
    "The report is due on Friday.",
    "报告星期五交。",
    "Berlin time, 24 h: 18:30",
    "不要用缩写",
    "Réponds-moi en français",
]
ODD = [
    "",
    " ",
    "\n\t",
    "\0",
    "a\0b",
    "\ud800",
    "x\udfffy",
    "\ufdfa" * 900,
    "😀" * 50,
    "\u202eabc",
    "\ufeff",
    "\x01",
    "a" * 200_000,
]


def assert_units(vectors: Vectors, embedder: Embedder, count: int) -> None:
    assert vectors.shape == (count, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)


def test_it_has_a_name_a_revision_and_bounds(embedder: Embedder) -> None:
    assert embedder.name
    assert embedder.revision is not None
    assert embedder.dimensions > 0
    assert embedder.max_chars > 0


def test_a_text_becomes_a_unit_vector_each(embedder: Embedder) -> None:
    assert_units(embedder.embed(TEXTS), embedder, len(TEXTS))


def test_no_text_gives_no_row(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_row_depends_on_its_text_alone(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        assert np.allclose(embedder.embed([text])[0], row, atol=1e-5)
    assert np.allclose(embedder.embed(TEXTS[::-1])[::-1], together, atol=1e-5)


@pytest.mark.parametrize("text", ODD, ids=[ascii(text[:4]) for text in ODD])
def test_odd_input_is_embedded_and_counted(embedder: Embedder, text: str) -> None:
    assert_units(embedder.embed([text, "and a plain one"]), embedder, 2)
    assert embedder.count_tokens(text) >= 0


@given(text=st.text(st.characters(), max_size=60))
@settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_string_is_a_text(embedder: Embedder, text: str) -> None:
    assert_units(embedder.embed([text]), embedder, 1)
    assert 0 <= embedder.count_tokens(text) <= 4 * len(text) + 4


def test_what_no_model_reads_is_replaced_alike(embedder: Embedder) -> None:
    rows = embedder.embed(["a\0b", "a\ufffdb", "a\udc80b"])
    assert np.allclose(rows[0], rows[1], atol=1e-5)
    assert np.allclose(rows[0], rows[2], atol=1e-5)


def test_what_comes_after_the_bound_is_not_looked_at(embedder: Embedder) -> None:
    start = ("Some words to fill the text. " * 1_000)[: embedder.max_chars]
    rows = embedder.embed([start, start + "不要用缩写。" * 50])
    assert np.allclose(rows[0], rows[1], atol=1e-5)


def test_shared_words_bring_texts_together(embedder: Embedder) -> None:
    for first, near, far in (
        ("the cat sat on the mat", "the cat sat on a mat", "quarterly revenue grew in Asia"),
        ("我明天去北京开会", "我后天去北京开会", "这首歌是谁唱的"),
    ):
        one, two, three = embedder.embed([first, near, far])
        assert one @ two > one @ three


def test_several_threads_get_what_one_gets(embedder: Embedder) -> None:
    texts = [f"{text} {number}" for number in range(8) for text in TEXTS]
    alone = embedder.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: embedder.embed([text])[0], texts))
        counts = list(pool.map(embedder.count_tokens, texts))
    assert np.allclose(np.stack(rows), alone, atol=1e-5)
    assert counts == [embedder.count_tokens(text) for text in texts]


def test_loading_twice_is_loading_once(embedder: Embedder) -> None:
    embedder.load()
    before = embedder.embed(TEXTS)
    embedder.load()
    assert np.allclose(embedder.embed(TEXTS), before, atol=1e-6)


def test_tokens_are_counted_without_the_marks_of_the_model(embedder: Embedder) -> None:
    assert embedder.count_tokens("") == 0
    assert 1 <= embedder.count_tokens("hello") <= 5
    assert 2 <= embedder.count_tokens("不要用缩写") <= 10


def test_a_long_text_is_counted_from_samples(embedder: Embedder) -> None:
    part = "The figures of the second quarter are in the table below. "
    short = part * (COUNTED_CHARS // len(part))
    assert embedder.count_tokens(short * 10) == pytest.approx(embedder.count_tokens(short) * 10, rel=0.1)
