"""Structured logs: one JSON object a line, the libraries' lines too, exceptions without their words."""

import logging
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from types import TracebackType
from typing import Any, BinaryIO

import orjson
import structlog

from app.core.withholding import withheld

MAX_FRAMES = 30
MAX_CAUSES = 5
MAX_FOREIGN_CHARS = 200
_FIRST = ("time", "level", "event")
# uvicorn says where it listens and how it ends in its arguments; those of other libraries may be anything.
_FILLED_IN = ("uvicorn",)
# The request log tells of requests, without their addresses.
_ACCESS = "uvicorn.access"
_DROPPED = (_ACCESS, "httpx", "httpcore")

EventDict = MutableMapping[str, Any]  # Any: what structlog hands on, values of every type


def set_up_logs(level: str, stream: BinaryIO | None = None) -> None:
    """Send all logs of this process, those of libraries too, as JSON lines to `stream` (standard output by default)."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            _without_words,
            _without_secrets,
            # What is ours needn't be looked through.
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _in_order,
            structlog.processors.JSONRenderer(serializer=_dumped),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.BytesLoggerFactory(stream or sys.stdout.buffer),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [Routed()]
    root.setLevel(threshold)
    for name in list(logging.root.manager.loggerDict):
        # Libraries that brought a handler of their own would write past the one above.
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    # uvicorn would make a line for each request first, to have it dropped: it asks whether anybody would take it.
    access = logging.getLogger(_ACCESS)
    access.propagate, access.disabled = False, True
    logging.captureWarnings(capture=True)


class Routed(logging.Handler):
    """Takes the lines of libraries: which logger, which message, and never what was filled into it."""

    def __init__(self) -> None:
        """Begin, with the lines that aren't wanted filtered out."""
        super().__init__()
        self.addFilter(is_wanted)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        exc_info = record.exc_info if record.exc_info and record.exc_info[1] else None
        structlog.get_logger().log(record.levelno, _told(record), logger=record.name, exc_info=exc_info)


def is_wanted(record: logging.LogRecord) -> bool:
    """Say whether a library's line is kept."""
    return not record.name.startswith(_DROPPED)


def described(error: BaseException) -> dict[str, Any]:
    """Return what may be told of an exception: its type and its causes', and where it came from; never its words."""
    told: dict[str, Any] = {"error": _type_name(error), "trace": list(_frames(error.__traceback__))[-MAX_FRAMES:]}
    causes = [_type_name(cause) for cause in _causes(error)]
    return told | {"causes": causes} if causes else told


def _told(record: logging.LogRecord) -> str:
    """Return a library's message before anything was filled in, its first line: what follows may be values."""
    message = record.getMessage() if record.name.startswith(_FILLED_IN) else str(record.msg)
    return message.strip().partition("\n")[0][:MAX_FOREIGN_CHARS]


def _without_words(_logger: object, _method: str, event: EventDict) -> EventDict:
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    error = found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event.update(described(error))
    return event


def _without_secrets(_logger: object, _method: str, event: EventDict) -> EventDict:
    # The names are keyword arguments of ours.
    return {name: withheld(value) for name, value in event.items()}


def _in_order(_logger: object, _method: str, event: EventDict) -> EventDict:
    return {name: event.pop(name) for name in _FIRST if name in event} | dict(event)


def _dumped(event: Mapping[str, Any], **_options: object) -> bytes:
    # What JSON doesn't know is told by its type: a repr could hold anything.
    return orjson.dumps(event, default=_type_name, option=orjson.OPT_NON_STR_KEYS)


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error
    for _ in range(MAX_CAUSES):
        inside = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else None
        following = inside or cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
        if following is None:
            return
        cause = following
        yield cause


def _frames(traceback: TracebackType | None) -> Iterator[str]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield f"{traceback.tb_frame.f_globals.get('__name__', '?')}:{traceback.tb_lineno} {code.co_name}"
        traceback = traceback.tb_next
