"""A real HTTP server on loopback that speaks OpenAI's protocol, and can be told to misbehave."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Recorder:
    """What the server saw, and what it shall answer: `answers` first, one a request, then what is usual."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[Callable[[dict[str, Any]], Answer]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


def status(code: int, **headers: str) -> Callable[[dict[str, Any]], Answer]:
    return lambda _: (code, {name.replace("_", "-"): value for name, value in headers.items()}, b"{}")


@contextmanager
def running(usual: Callable[[dict[str, Any]], Answer]) -> Iterator[Recorder]:
    """Serve until the block is left. `usual` is what is answered where nothing else is asked for."""
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            recorder.bodies.append(body)
            recorder.headers.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
            code, headers, answer = (recorder.answers.pop(0) if recorder.answers else usual)(body)
            self.send_response(code)
            for name, value in ({"content-length": str(len(answer))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing: a client that stopped waiting closes its connection."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    recorder.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield recorder
    finally:
        recorder.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
