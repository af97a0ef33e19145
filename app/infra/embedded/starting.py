"""One server on its way up, while others are on theirs: a first attempt at once, and more when it is waited for."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.infra.embedded.failures import EmbeddedError, ServerFailedError
from app.infra.embedded.ports import free_port, is_free
from app.infra.embedded.process import Child, Program, Supervisor

ATTEMPTS = 5  # a start right after a kill -9 may fail, and so does one whose free port was taken meanwhile
PAUSE_S = 0.2  # times the number of the attempt


@dataclass(frozen=True)
class Recipe:
    """`program` takes a port and the number of the attempt, from 0; `is_ready` the child and its port."""

    port: int | None
    program: Callable[[int, int], Program]
    is_ready: Callable[[Child, int], bool]
    within_s: float


class Start:
    def __init__(self, supervisor: Supervisor, recipe: Recipe) -> None:
        self._supervisor = supervisor
        self._recipe = recipe
        self._attempt = 0
        self._child, self._port = self._spawn()

    def finish(self) -> int:
        """Wait until it is ready, starting it anew where it ends before that. Returns the port."""
        while True:
            try:
                self._supervisor.await_ready(
                    self._child, lambda: self._recipe.is_ready(self._child, self._port), self._recipe.within_s
                )
            except ServerFailedError:
                self._attempt += 1
                if self._attempt == ATTEMPTS:
                    raise
                time.sleep(PAUSE_S * self._attempt)
                self._child, self._port = self._spawn()
            else:
                return self._port

    def _spawn(self) -> tuple[Child, int]:
        port = self._recipe.port or free_port()
        if not is_free(port):
            raise EmbeddedError(f"port {port} is taken: set another, or stop what listens there")
        return self._supervisor.spawn(self._recipe.program(port, self._attempt)), port
