"""The embedder behind an HTTP endpoint, against a server on loopback."""

import json
import threading
import time
from typing import Any

import numpy as np
import pytest

from app.infra.embedders.openai import OpenAIEmbedder
from app.infra.embedders.port import EmbedderMisconfiguredError, EmbedderUnavailableError
from app.infra.served.client import Endpoint
from tests.embedders.endpoint import DIMENSIONS, Answer, Recorder, embeddings, status
from tests.embedders.fakes import HashingEmbedder


def made(
    server: Recorder, *, timeout_s: float = 5.0, attempts: int = 3, dimensions: int | None = DIMENSIONS
) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        "m1", Endpoint(server.url, "k-123", timeout_s=timeout_s, attempts=attempts), dimensions=dimensions
    )


def test_it_speaks_the_protocol(server: Recorder) -> None:
    rows = made(server).embed(["one", "two", "三"])
    assert np.allclose(rows, HashingEmbedder().embed(["one", "two", "三"]), atol=1e-5)
    assert server.bodies == [{"model": "m1", "input": ["one", "two", "三"], "encoding_format": "float"}]
    assert server.headers[0]["authorization"] == "Bearer k-123"
    assert server.headers[0]["path"] == "/v1/embeddings"


def test_dimensions_are_learned_once(server: Recorder) -> None:
    embedder = made(server, dimensions=None)
    embedder.load()
    assert embedder.dimensions == DIMENSIONS
    embedder.embed(["one"])
    assert len(server.bodies) == 2


def test_many_texts_go_in_several_requests(server: Recorder) -> None:
    texts = [f"text {number}" for number in range(150)]
    assert np.allclose(made(server).embed(texts), HashingEmbedder().embed(texts), atol=1e-5)
    assert [len(inputs) for inputs in (body["input"] for body in server.bodies)] == [64, 64, 22]


def test_a_blank_text_is_not_sent_blank(server: Recorder) -> None:
    made(server).embed(["", "  "])
    assert [body["input"] for body in server.bodies] == [[".", "."]]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: Recorder, code: int) -> None:
    server.answers = [status(code), status(code)]
    made(server).embed(["one"])
    assert len(server.bodies) == 3


def test_attempts_are_bounded(server: Recorder) -> None:
    server.answers = [status(503)] * 9
    with pytest.raises(EmbedderUnavailableError, match="503"):
        made(server, attempts=2).embed(["one"])
    assert len(server.bodies) == 2


def test_retry_after_is_heeded(server: Recorder) -> None:
    server.answers = [status(429, retry_after="1")]
    start = time.monotonic()
    made(server).embed(["one"])
    assert time.monotonic() - start >= 1.0


@pytest.mark.parametrize("code", [301, 400, 401, 404, 422])
def test_a_lasting_failure_is_not_tried_again(server: Recorder, code: int) -> None:
    server.answers = [status(code)]
    with pytest.raises(EmbedderMisconfiguredError, match=str(code)):
        made(server).embed(["a private text"])
    assert len(server.bodies) == 1


def test_an_error_holds_no_text_and_no_key(server: Recorder) -> None:
    server.answers = [lambda body: (400, {}, json.dumps(body).encode())]
    with pytest.raises(EmbedderMisconfiguredError) as caught:
        made(server).embed(["a private text"])
    assert "private" not in str(caught.value)
    assert "k-123" not in str(caught.value)


def test_other_dimensions_than_said_are_refused(server: Recorder) -> None:
    server.answers = [lambda body: embeddings(body, 64)]
    with pytest.raises(EmbedderMisconfiguredError, match="64"):
        made(server).embed(["one"])


def drop_last(body: dict[str, Any]) -> Answer:
    code, headers, answer = embeddings(body)
    return code, headers, json.dumps({"data": json.loads(answer)["data"][1:]}).encode()


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: (200, {}, b"<html>"),
        lambda _: (200, {}, b"[]"),
        lambda _: (200, {}, b'{"data": [{"index": 0, "embedding": "AAAA"}]}'),
        lambda _: (200, {}, b'{"data": [[0.1], [0.2]]}'),
        lambda _: (200, {}, b'{"data": null}'),
        lambda _: (
            200,
            {},
            json.dumps({"data": [{"index": i, "embedding": [float("nan")] * 256} for i in (0, 1)]}).encode(),
        ),
        drop_last,
    ],
)
def test_an_answer_outside_the_protocol_is_an_error(server: Recorder, answer: Any) -> None:  # noqa: ANN401 - see Recorder
    server.answers = [answer]
    with pytest.raises(EmbedderUnavailableError):
        made(server).embed(["one", "two"])


def test_a_silent_server_is_left(server: Recorder) -> None:
    def silent(body: dict[str, Any]) -> Answer:
        server.released.wait(20)
        return embeddings(body)

    server.answers = [silent]
    start = time.monotonic()
    with pytest.raises(EmbedderUnavailableError, match="Timeout"):
        made(server, timeout_s=0.2, attempts=1).embed(["one"])
    assert time.monotonic() - start < 3


def test_a_server_that_isnt_there_is_an_error() -> None:
    embedder = OpenAIEmbedder("m", Endpoint("http://127.0.0.1:9", attempts=2), dimensions=4)
    with pytest.raises(EmbedderUnavailableError, match="attempts: 2"):
        embedder.embed(["one"])


def test_closing_ends_a_pause(server: Recorder) -> None:
    server.answers = [status(503, retry_after="5")]
    embedder = made(server)
    raised: list[BaseException] = []
    asked = threading.Event()

    def ask() -> None:
        try:
            embedder.embed(["one"])
        except EmbedderUnavailableError as error:
            raised.append(error)
        asked.set()

    thread = threading.Thread(target=ask)
    start = time.monotonic()
    thread.start()
    while not server.bodies:
        asked.wait(0.01)
    embedder.close()
    thread.join()
    assert raised
    assert time.monotonic() - start < 4


def test_who_asks_after_the_end_is_told(server: Recorder) -> None:
    embedder = made(server)
    embedder.embed(["one"])
    for _ in range(2):
        embedder.close()
    with pytest.raises(EmbedderUnavailableError, match="closed"):
        embedder.embed(["two"])
    assert len(server.bodies) == 1


def test_an_answer_that_trickles_is_left(server: Recorder) -> None:
    def trickling(body: dict[str, Any]) -> Answer:
        code, _, answer = embeddings(body)
        return code, {"content-length": str(len(answer) + 1)}, answer

    server.answers = [trickling]
    with pytest.raises(EmbedderUnavailableError, match="Timeout"):
        made(server, timeout_s=0.5, attempts=1).embed(["one"])
