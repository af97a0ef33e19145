"""A Chroma server of a test's own, to be stopped, killed and started again."""

import signal
import subprocess
import time
from pathlib import Path

from app.infra.embedded import chroma
from app.infra.embedded.ports import free_port


class ChromaServer:
    """One server on one port and folder, however often it is started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("data", "run"):
            (folder / name).mkdir()

    @property
    def url(self) -> str:
        return chroma.url(self._port)

    @property
    def data(self) -> Path:
        return self._folder / "data"

    def start(self) -> None:
        program = chroma.program(self.data, self._folder / "run", self._port, self._folder / "log", 0)
        self._process = subprocess.Popen(program.command, env=program.environment, stdout=subprocess.DEVNULL)  # noqa: S603 - as the stack starts it
        end = time.monotonic() + 30
        while not chroma.is_ready(self._port):
            assert time.monotonic() < end, "Chroma doesn't answer"
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(30)
        self._process = None
