"""What a read of a preference costs while it is answered from Redis, beside the same from PostgreSQL, and a hello.

    .venv/bin/python tools/preference_speed.py [--seconds 8] [--connections 64] [--rounds 2]

It starts the servers for itself; each connection is a user with ten preferences, who asks for one of them again and
again, or for all. PostgreSQL is what the same service reads where it has no Redis that it could trust. The ratios to
the hello are what can be compared between machines; on one that is busy otherwise, that of the processor's time.
"""

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path
from typing import Final

import httpx
from append_speed import HERE, MASTER_KEY, SECRET, Load, hello, load, served

from app.commands.token import make_token
from app.infra.db import migrations
from app.infra.embedded.stack import Stack

PORT: Final = 8915
NOWHERE: Final = "redis://127.0.0.1:1/0"
PREFERENCES: Final = 10
PATHS: Final = ("/v1/preferences/key.0", "/v1/preferences", "/v1/profile")


def reads(wishes: argparse.Namespace, stack: Stack, redis: str) -> dict[str, Load]:
    """Return what the service does with each read, with this Redis."""
    urls = stack.urls
    environment = {
        "CAIRN_PORT": str(PORT),
        "CAIRN_AUTH_SECRET": SECRET,
        "CAIRN_MASTER_KEY": MASTER_KEY,
        "CAIRN_DEFAULT_SCOPES": "preferences preferences:explicit profile",
        "CAIRN_DATABASE_URL": str(urls.database),
        "CAIRN_DATABASE_LOG_URL": str(urls.database_log),
        "CAIRN_QUEUE_URL": str(urls.queue),
        "CAIRN_KEYS_URL": str(urls.keys),
        "CAIRN_REDIS_URL": redis,
        "CAIRN_CHROMA_URL": str(urls.chroma),
        "CAIRN_DRAIN_S": "0",
    }
    with served(["-m", "app.cli", "serve"], HERE, environment, PORT, "/healthz") as server:
        tokens = [make_token(SECRET, f"user-{each}", "speed", None, None, 3600) for each in range(wishes.connections)]
        with httpx.Client(base_url=f"http://127.0.0.1:{PORT}", trust_env=False, timeout=30) as client:
            for token in tokens:
                _say(client, token)
        return {
            path: asyncio.run(
                load(server, PORT, [_get(path, token) for token in tokens], b"HTTP/1.1 200", wishes.seconds)
            )
            for path in PATHS
        }


def _say(client: httpx.Client, token: str) -> None:
    """Give a user their preferences, where they have none yet."""
    items = [{"key": f"key.{each}", "value": {"of": each}, "version": None} for each in range(PREFERENCES)]
    answer = client.put("/v1/preferences", json={"items": items}, headers={"Authorization": f"Bearer {token}"})
    if answer.status_code not in {httpx.codes.OK, httpx.codes.PRECONDITION_FAILED}:
        answer.raise_for_status()


def _get(path: str, token: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def main() -> None:
    """Measure all of it, round after round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-speed-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs this
        stack = Stack(Path(folder) / "data")
        stack.start()
        try:
            migrations.upgrade(str(stack.urls.database_owner), str(stack.urls.keys))
            for _ in range(wishes.rounds):
                base = hello(wishes)
                print(f"{'hello':32} {base.rate:6.0f}/s {base.cpu_us:6.0f} us of the processor each")
                for store, redis in (("Redis", str(stack.urls.redis)), ("PostgreSQL", NOWHERE)):
                    for path, found in reads(wishes, stack, redis).items():
                        cuts = statistics.quantiles(found.waits_ms, n=100)
                        ratio = f"{found.rate / base.rate:.2f}, {base.cpu_us / found.cpu_us:.2f} by processor"
                        print(f"{store:10} {path:21} {found.rate:6.0f}/s {found.cpu_us:6.0f} us  {ratio}", end="")
                        print(f"  p50 {cuts[49]:.0f} ms  p99 {cuts[98]:.0f} ms  {found.refused} refused", flush=True)
        finally:
            stack.stop()
            stack.remove()


if __name__ == "__main__":
    main()
