"""OpenAI's protocol for chats, as a server on loopback answers it."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.served.endpoint import Answer, Recorder, status
from tests.served.endpoint import running as serving

__all__ = ["Answer", "Recorder", "running", "said", "status"]


def said(text: object) -> Callable[[dict[str, Any]], Answer]:
    body = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}).encode()
    return lambda _: (200, {}, body)


def running() -> AbstractContextManager[Recorder]:
    return serving(said("They spoke of a trip to Lisbon in May."))
