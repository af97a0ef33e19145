"""`cairn bench` measures what it says; how fast that is, is for the bench to say."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bench.load import Plan, made
from app.bench.report import draw, markdown
from app.bench.running import Figure, Report, Wishes
from app.infra.embedded.ports import LOOPBACK


@pytest.fixture
async def answers() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that answers 200, and 412 to every third request; and what it was asked."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head)
            status = b"412 Precondition Failed" if len(asked) % 3 == 0 else b"200 OK"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")

    server = await asyncio.start_server(answer, LOOPBACK, 0)
    async with server:
        yield server.sockets[0].getsockname()[1], asked


async def test_each_answer_counts_once_and_a_version_follows_each_success(answers: tuple[int, list[bytes]]) -> None:
    port, asked = answers
    request = "GET / HTTP/1.1\r\nIf-Match: @VERSION@\r\n\r\n"
    found = await made(Plan(port, [[request] * 6], 200, once=True))
    assert (len(found.waits_ms), found.others) == (4, Counter({"412": 2}))
    assert [int(head.split(b"If-Match: ")[1].split(b"\r")[0]) for head in asked] == [1, 2, 3, 3, 4, 5]


def test_a_report_is_a_table_its_json_and_a_picture_of_each_curve(tmp_path: Path) -> None:
    figures = [Figure("append", 4, 1000.0, 1, 2, 3, {"api": 150.0}, {}, 0.5, 0.6, size) for size in (10, 100)]
    report = Report(Wishes(), operations=figures[:1], growth={"messages of a session": figures})
    assert "| append | 10 | 4 | 1000 |" in markdown(report)
    assert json.loads(report.to_json())["growth"]["messages of a session"][1]["size"] == 100
    drawn = draw(report, tmp_path)
    assert ("matplotlib" in sys.modules) == bool(drawn)
    assert all("<svg" in each.read_text() for each in drawn)
