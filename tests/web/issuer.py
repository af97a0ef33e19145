"""An issuer of tokens: a secret, RSA and EC keys, and the server that publishes them."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jose import jwk, jwt
from jose.backends.base import Key

from tests.web.application import SECRET

ISSUER = "https://issuer.example"
AUDIENCE = "cairn"
LIFE_S = 600
POLL_S = 0.01

Claims = dict[str, Any]  # Any: claims of every type, right and wrong


def claims(**changes: object) -> Claims:
    """Return good claims with changes; a change to `...` leaves the claim out."""
    now = int(time.time())
    good: Claims = {"sub": "alice", "iat": now, "exp": now + LIFE_S}
    return {name: value for name, value in (good | changes).items() if value is not ...}


def signed(payload: Claims, secret: str = SECRET, **header: object) -> str:
    return jwt.encode(payload, secret, algorithm="HS256", headers=header)


def raw(header: dict[str, Any], payload: bytes, secret: bytes = SECRET.encode()) -> str:
    """Return a token made by hand, signed with HMAC-SHA256 whatever its header says."""
    parts = [encoded(json.dumps(header).encode()), encoded(payload)]
    signature = hmac.new(secret, ".".join(parts).encode(), hashlib.sha256).digest()
    return ".".join([*parts, encoded(signature)])


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Signer:
    """A private key with its id, and how it is published."""

    def __init__(self, algorithm: str, key_id: str | None, pem: bytes) -> None:
        self.algorithm = algorithm
        self.key_id = key_id
        self.key: Key = jwk.construct(pem.decode(), algorithm)

    def sign(self, payload: Claims, **header: object) -> str:
        named = {"kid": self.key_id} if self.key_id else {}
        return jwt.encode(payload, self.key, algorithm=self.algorithm, headers=named | header)

    def published(self, **changes: object) -> dict[str, Any]:
        public = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in self.key.public_key().to_dict().items()
        }
        entry = public | {"kid": self.key_id, "use": "sig"} | changes
        return {name: value for name, value in entry.items() if value is not None}

    def public_pem(self) -> str:
        pem: bytes = self.key.public_key().to_pem()
        return pem.decode()


@cache
def _pem(kind: str, number: int, bits: int) -> bytes:
    del number  # another number, another key
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "EC" else rsa.generate_private_key(65_537, bits)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def rsa_signer(key_id: str | None, number: int = 0, bits: int = 2_048) -> Signer:
    return Signer("RS256", key_id, _pem("RSA", number, bits))


def ec_signer(key_id: str | None, number: int = 0) -> Signer:
    return Signer("ES256", key_id, _pem("EC", number, 0))


class Publisher(ThreadingHTTPServer):
    """Serves a key set over HTTP and counts how often it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.body = b'{"keys": []}'
        self.asked = 0
        self.gate = threading.Event()
        self.gate.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/keys.json"

    def publish(self, *entries: dict[str, Any]) -> None:
        self.body = json.dumps({"keys": entries}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: Publisher

    def do_GET(self) -> None:
        self.server.asked += 1
        self.server.gate.wait(10)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""


@contextmanager
def publishing() -> Iterator[Publisher]:
    publisher = Publisher()
    thread = threading.Thread(target=publisher.serve_forever, args=(POLL_S,), daemon=True)
    thread.start()
    try:
        yield publisher
    finally:
        publisher.gate.set()
        publisher.shutdown()
        publisher.server_close()
        thread.join()
