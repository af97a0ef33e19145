"""A user of the running service: every call is bounded in time, shown on a line, and held against what is expected."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import httpx

TIMEOUT_S: Final = 30.0
# A service that is starting or busy says so and when to come again.
MAX_TRIES: Final = 8
LONGEST_PAUSE_S: Final = 5.0
_AGAIN: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_ID: Final = re.compile(r"\b([a-z]{3}_)[0-9a-f]{26}([0-9a-f]{6})\b")

Say = Callable[[str], None]


class UnexpectedError(Exception):
    """What happened isn't what should have."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where the service is, how a token for a user is made, and where the lines go."""

    http: httpx.AsyncClient
    token: Callable[[str], str]
    say: Say

    def visitor(self, sub: str) -> "Visitor":
        """Return a visitor with a token of their own."""
        return Visitor(self, self.token(sub))


class Visitor:
    """Calls the service as one user, with the token made when they came."""

    def __init__(self, service: Service, token: str) -> None:
        """Take the service and the user's token."""
        self._service = service
        self._headers = {"Authorization": f"Bearer {token}"}

    async def call(
        self,
        method: str,
        path: str,
        expected: int | Sequence[int],
        *,
        headers: Mapping[str, str] | None = None,
        **sent: Any,  # noqa: ANN401 - a body, as httpx takes it
    ) -> httpx.Response:
        """Call, show the call, and return the answer. Raises UnexpectedError for a status that isn't expected."""
        wanted = [expected] if isinstance(expected, int) else expected
        answer = await self._answer(method, path, {**self._headers, **(headers or {})}, sent)
        conditions = "".join(f"  {name}: {value}" for name, value in (headers or {}).items() if name.startswith("If-"))
        self._service.say(f"  {method} {shortened(path)}{conditions}  -> {answer.status_code} {answer.reason_phrase}")
        if answer.status_code not in wanted:
            raise UnexpectedError(
                f"{method} {shortened(path)} answered {answer.status_code} ({_code(answer)}), expected {expected}"
            )
        return answer

    async def quiet(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        **sent: Any,  # noqa: ANN401 - a body, as httpx takes it
    ) -> httpx.Response:
        """Call again what was shown before, while waiting. Raises UnexpectedError for anything but 200."""
        answer = await self._answer(method, path, {**self._headers, **(headers or {})}, sent)
        if answer.status_code != HTTPStatus.OK:
            raise UnexpectedError(f"{method} {shortened(path)} answered {answer.status_code} ({_code(answer)})")
        return answer

    def tell(self, text: str) -> None:
        """Show a line that explains the call before it."""
        self._service.say(f"      {text}")

    async def _answer(
        self, method: str, path: str, headers: Mapping[str, str], sent: Mapping[str, Any]
    ) -> httpx.Response:
        for _ in range(MAX_TRIES - 1):
            answer = await self._service.http.request(method, path, headers=headers, timeout=TIMEOUT_S, **sent)
            if answer.status_code not in _AGAIN:
                return answer
            await asyncio.sleep(_pause_s(answer))
        return await self._service.http.request(method, path, headers=headers, timeout=TIMEOUT_S, **sent)


def require(condition: object, what: str) -> None:
    """Raise UnexpectedError where something isn't as it should be."""
    if not condition:
        raise UnexpectedError(what)


def shortened(text: str) -> str:
    """Return a text in which ids show their last six digits only."""
    return _ID.sub(r"\1…\2", text)


def _pause_s(answer: httpx.Response) -> float:
    after = answer.headers.get("Retry-After", "1")
    return min(float(after) if after.isdigit() else 1.0, LONGEST_PAUSE_S)


def _code(answer: httpx.Response) -> str:
    try:
        body = answer.json()
    except ValueError:
        return "no JSON"
    return str(body.get("code", "no code")) if isinstance(body, dict) else "no code"
