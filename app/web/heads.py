"""The heads of requests, bounded: uvicorn's fast parser takes one of any length into memory, and from anybody."""

from asyncio import BaseTransport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol; a connection is closed where MAX_HEAD_BYTES of a request bring nothing of its body.

    So much may its request line and headers have, and the same bound holds for what no limit to the body counts: what
    stands between chunks, and the trailers behind them, which are read and taken for nothing.
    """

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin outside of a request."""
        self._in_request = self._in_head = self._brought_body = False
        self._bare_bytes = 0
        super().connection_made(transport)  # type: ignore[arg-type] # uvicorn's narrows what asyncio declares

    def on_message_begin(self) -> None:
        """Enter the head of a request."""
        self._in_request = self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. uvicorn would add a trailer to those that the application has read already."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Leave the head."""
        self._in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body, which is counted elsewhere."""
        self._brought_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Leave the request."""
        self._in_request = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> Any:  # noqa: ANN401 - as uvicorn's
        """Parse what came, and give up where the request has had its bytes and goes on."""
        self._brought_body = False
        super().data_received(data)
        is_bare = self._in_request and not self._brought_body
        self._bare_bytes = self._bare_bytes + len(data) if is_bare else 0
        if self._bare_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            if self._in_head or not self.cycle.response_started:
                self.transport.write(_REFUSAL)
            self.transport.close()
