"""The heads of requests, bounded: uvicorn's fast parser takes one of any length into memory, and from anybody."""

from asyncio import BaseTransport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol; a connection whose request line and headers don't end within MAX_HEAD_BYTES is closed."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin outside of a head."""
        self._in_head = False
        self._head_bytes = 0
        super().connection_made(transport)  # type: ignore[arg-type] # uvicorn's narrows what asyncio declares

    def on_message_begin(self) -> None:
        """Enter the head of a request."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Leave it."""
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> Any:  # noqa: ANN401 - as uvicorn's
        """Parse what came, and give up where the head has had its bytes and goes on."""
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_REFUSAL)
            self.transport.close()
