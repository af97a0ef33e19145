"""Ports on loopback: free ones, and whether a wanted one is free."""

import socket

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Free when asked. Another process may take it before the server does; the stack then tries with another."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # lingering connections aren't a listener
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
