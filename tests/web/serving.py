"""The small application under a real server: `python -m tests.web.serving <port> <drain_s>`."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from app.infra.observability.logs import set_up_logs
from app.web.draining import drains_first, end_well
from app.web.heads import BoundedHeads
from tests.web.application import make_app


def main(port: int, drain_s: float) -> None:
    app = make_app()

    @asynccontextmanager
    async def live(_app: FastAPI) -> AsyncIterator[None]:
        with drains_first(app.state.readiness, drain_s):
            yield

    app.router.lifespan_context = live
    set_up_logs("info")
    end_well()
    uvicorn.run(
        app,
        http=BoundedHeads,
        ws="none",
        host="127.0.0.1",
        port=port,
        access_log=False,
        log_config=None,
        server_header=False,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
