"""Under a real server: what its parser lets through, and how it ends."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import httpx
import pytest

from app.web.heads import MAX_HEAD_BYTES
from tests.web.application import LIMIT_BYTES
from tests.web.issuer import claims, signed

ROOT = Path(__file__).parents[2]
PHRASE = "walrus"
WITHIN_S = 20


class Serving:
    """A server's process, and a client with a token."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        port: int,
        client: httpx.AsyncClient,
        log: BinaryIO,
    ) -> None:
        self.process = process
        self.log = log
        self.port = port
        self.client = client
        self.authorization = str(client.headers["Authorization"])

    async def raw(self, *pieces: bytes) -> bytes:
        """Send bytes over a connection and return everything that comes back until it is closed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        answer = await asyncio.wait_for(reader.read(), WITHIN_S)
        writer.close()
        return answer

    def request(self, line: str, *headers: str) -> bytes:
        lines = [line, "Host: cairn.test", f"Authorization: {self.authorization}", "Connection: close", *headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def logged(self) -> str:
        self.log.seek(0)
        return self.log.read().decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _until(check: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not await check():  # noqa: ASYNC110 - another process changes what is waited for
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _serving(drain_s: float) -> AsyncIterator[Serving]:
    port = _free_port()
    command = [sys.executable, "-m", "tests.web.serving", str(port), str(drain_s)]
    headers = {"Authorization": f"Bearer {signed(claims(scope='sessions'))}"}
    with TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=log, stderr=log)
        client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False)
        serving = Serving(process, port, client, log)

        async def answers() -> bool:
            try:
                return (await client.get("/readyz")).is_success
            except httpx.TransportError:
                return False

        try:
            await _until(answers)
            yield serving
        finally:
            await client.aclose()
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.fixture(scope="module")
async def serving() -> AsyncIterator[Serving]:
    async with _serving(0) as serving:
        yield serving


async def test_sigterm_drains_serves_and_ends_well() -> None:
    async with _serving(600) as serving:
        serving.process.send_signal(signal.SIGTERM)

        async def says_so() -> bool:
            return (await serving.client.get("/readyz")).status_code == 503

        await _until(says_so)
        assert (await serving.client.get("/v1/things/scope")).status_code == 200
        serving.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(serving.process.wait(), WITHIN_S) == 0


async def test_the_wait_is_no_longer_than_it_should_be() -> None:
    async with _serving(0.1) as serving:
        serving.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(serving.process.wait(), WITHIN_S) == 0
        lines = [json.loads(line) for line in serving.logged().splitlines()]
        assert all({"time", "level", "event"} <= line.keys() for line in lines)


async def test_ctrl_c_is_not_waited_for() -> None:
    async with _serving(600) as serving:
        serving.process.send_signal(signal.SIGINT)
        await asyncio.wait_for(serving.process.wait(), WITHIN_S)


async def test_a_body_in_chunks_is_cut_off_at_its_limit(serving: Serving) -> None:
    head = serving.request("POST /v1/things HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked")
    chunk = b"400\r\n" + b"x" * 0x400 + b"\r\n"
    answer = await serving.raw(head, *[chunk] * (LIMIT_BYTES // 0x400 + 1))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code": "too_large"' in answer


async def test_a_length_over_the_limit_is_answered_before_the_body(serving: Serving) -> None:
    head = serving.request("POST /v1/things HTTP/1.1", f"Content-Length: {LIMIT_BYTES + 1}", "Expect: 100-continue")
    answer = await serving.raw(head)
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (f"GET /v1/things/{PHRASE}%00 HTTP/1.1", 404),
        (f"GET /v1/things/%ff{PHRASE} HTTP/1.1", 404),
        (f"GET /v1/things/%ED%A0%80{PHRASE} HTTP/1.1", 404),
        (f"GET /{PHRASE}/../v1/things/scope HTTP/1.1", 404),
        (f"GET //v1/things/{PHRASE} HTTP/1.1", 404),
        (f"GET /v1/things?kind={PHRASE}%00 HTTP/1.1", 422),
        (f"GET /v1/things?{PHRASE}%20x=1 HTTP/1.1", 422),
        ("GET /v1/things?" + "a" * 20_000 + " HTTP/1.1", 413),
        (f"GET /{PHRASE}" + "a" * 20_000 + " HTTP/1.1", 413),
        (f"{PHRASE.upper()} /v1/things/scope HTTP/1.1", 400),
        (f"TRACE /v1/things/{PHRASE} HTTP/1.1", 405),
    ],
)
async def test_odd_addresses_are_answered_and_not_told(serving: Serving, line: str, status: int) -> None:
    answer = await serving.raw(serving.request(line))
    assert int(answer.split()[1]) == status
    assert PHRASE.encode() not in answer.lower()
    assert PHRASE not in serving.logged().lower()


async def test_a_head_without_end_is_cut_off(serving: Serving) -> None:
    head = serving.request("GET /v1/things/scope HTTP/1.1")
    answer = await serving.raw(head.removesuffix(b"\r\n") + b"X: " + b"x" * MAX_HEAD_BYTES)
    assert answer.startswith(b"HTTP/1.1 431 ")


CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked")
TEXT = b'10\r\n{"text": "what"}\r\n'


@pytest.mark.parametrize(
    ("endless", "piece"),
    [
        (b"0\r\nX: ", b"x" * 0x1000),
        (b"0\r\n", b"X-Many: 1\r\n" * 0x100),
        (b"1;", b"x" * 0x1000),
    ],
    ids=["one trailer", "many trailers", "an extension"],
)
async def test_what_no_limit_to_the_body_counts_is_cut_off(serving: Serving, endless: bytes, piece: bytes) -> None:
    head = serving.request("POST /v1/things HTTP/1.1", *CHUNKED)
    try:
        answer = await serving.raw(head + TEXT + endless, *[piece] * (10 * MAX_HEAD_BYTES // len(piece)))
    except ConnectionError:
        return  # closed while the rest was still on its way
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_trailer_is_no_header(serving: Serving) -> None:
    head = serving.request("POST /v1/things HTTP/1.1", *CHUNKED)
    answer = await serving.raw(head, TEXT, b"0\r\nIdempotency-Key: late\r\nX-Request-ID: late\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert b"late" not in answer
    assert b"x-attempt" not in answer.lower()


async def test_who_asks_for_a_websocket_is_not_told_in_the_log(serving: Serving) -> None:
    upgrade = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    await serving.raw(serving.request(f"GET /v1/things/scope?q={PHRASE} HTTP/1.1", *upgrade))
    assert PHRASE not in serving.logged()


async def test_half_an_answer_is_not_taken_for_a_whole(serving: Serving) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await serving.client.get("/v1/things/stops", params={"told": PHRASE})
    logged = serving.logged()
    assert PHRASE not in logged
    assert '"code":"internal"' in logged
