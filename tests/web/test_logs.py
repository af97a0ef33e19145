"""Log lines: JSON, the libraries' too, and an exception without its words."""

import io
import json
import logging
from typing import Any

import pytest
import structlog
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from app.web.log import RequestLog

PHRASE = "the walrus sings at midnight"


def _lines(written: io.BytesIO) -> list[dict[str, Any]]:
    assert PHRASE not in written.getvalue().decode()
    return [json.loads(line) for line in written.getvalue().splitlines()]


def _fail() -> None:
    try:
        dict[str, str]()[PHRASE]
    except KeyError as error:
        raise ValueError(PHRASE) from error


def test_a_line_begins_with_time_level_and_event(written: io.BytesIO) -> None:
    structlog.get_logger().info("started", port=8000)
    [line] = _lines(written)
    assert list(line) == ["time", "level", "event", "port"]


def test_an_exception_is_told_by_types_and_places(written: io.BytesIO) -> None:
    try:
        _fail()
    except ValueError:
        structlog.get_logger().exception("failed")
        logging.getLogger("a.library").exception("failed with %s", PHRASE)
    ours, theirs = _lines(written)
    assert (ours["error"], ours["causes"]) == ("ValueError", ["KeyError"])
    assert [frame.split()[1] for frame in ours["trace"]] == ["test_an_exception_is_told_by_types_and_places", "_fail"]
    assert (theirs["error"], theirs["event"], theirs["logger"]) == ("ValueError", "failed with %s", "a.library")


def test_a_group_tells_what_is_in_it(written: io.BytesIO) -> None:
    structlog.get_logger().error("failed", exc_info=ExceptionGroup(PHRASE, [OSError(PHRASE)]))
    assert _lines(written)[0]["causes"] == ["OSError"]


def test_what_json_does_not_know_is_told_by_its_type(written: io.BytesIO) -> None:
    class Holder:
        def __repr__(self) -> str:
            return PHRASE

    structlog.get_logger().info("held", holder=Holder())
    assert _lines(written)[0]["holder"].endswith("Holder")


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_what_a_library_fills_in_is_left_out(written: io.BytesIO, level: str) -> None:
    getattr(logging.getLogger("a.library.pool"), level)("lost %r after %d", PHRASE, 3)
    [line] = _lines(written)
    assert (line["level"], line["event"], line["logger"]) == (level, "lost %r after %d", "a.library.pool")


def test_of_a_message_that_was_made_before_only_its_first_line_is_kept(written: io.BytesIO) -> None:
    """Asyncio makes its messages so: what follows the first line is a repr of what was lost."""
    message = f"Task exception was never retrieved\nfuture: <Task exception={PHRASE}>"
    logging.getLogger("asyncio").error(message)
    assert _lines(written)[0]["event"] == "Task exception was never retrieved"


def test_a_servers_own_messages_are_filled_in(written: io.BytesIO) -> None:
    logging.getLogger("uvicorn.error").info("Uvicorn running on %s://%s:%d", "http", "127.0.0.1", 8000)
    assert _lines(written)[0]["event"] == "Uvicorn running on http://127.0.0.1:8000"


@pytest.mark.parametrize("name", ["uvicorn.access", "httpx", "httpcore.connection"])
def test_lines_about_addresses_are_dropped(written: io.BytesIO, name: str) -> None:
    logging.getLogger(name).warning('GET /v1/things?q=%s" 200', PHRASE)
    assert _lines(written) == []


async def test_who_hangs_up_in_the_middle_is_no_fault_of_ours(written: io.BytesIO) -> None:
    async def interrupted(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ClientDisconnect

    async def nothing() -> Message:
        return {"type": "http.disconnect"}

    async def unsent(message: Message) -> None:
        raise AssertionError(message)

    asgi = {"type": "http", "method": "POST", "path": "/", "headers": []}
    await RequestLog(interrupted)(asgi, nothing, unsent)
    [line] = [line for line in _lines(written) if line["event"] == "request"]
    assert (line["level"], line["status"], line["code"]) == ("info", None, "client_gone")
