"""The API process: `create_app(settings)`, and how it begins and ends."""

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import httpx
import structlog
from fastapi import Depends, FastAPI

from app import routing, wiring
from app.infra.db import migrations
from app.infra.db.engine import API_STATEMENT_TIMEOUT_S
from app.infra.db.known import require_known
from app.infra.observability.logs import set_up_logs
from app.settings import Settings
from app.web import contract, health, refusals
from app.web.direct import Dispatcher
from app.web.draining import drains_first, end_with_parent
from app.web.health import Readiness, State
from app.web.jwks import FETCH_TIMEOUT_S, PublishedKeys
from app.web.log import RequestLog
from app.web.middleware import BodyLimit, SecurityHeaders
from app.web.strict import strict
from app.web.tokens import Keys, Policy, SharedSecret, Tokens

# Of the contract, not of the code: it changes when a client has to.
CONTRACT_VERSION = "1"
DESCRIPTION = "Memory for agents: sessions, preferences, knowledge, and context under a budget; forgotten on request."
TEXTS = "/v1/knowledge/documents"
UPLOADS = "/v1/knowledge/uploads"
IMPORT = "/v1/users/me/import"
# The other fields of a form, and what parts it.
AROUND_A_FILE_BYTES = 1024 * 1024


def application() -> FastAPI:
    """Return the application by the environment: what each process of a server makes for itself."""
    end_with_parent()
    settings = Settings.load("serve")
    set_up_logs(settings.log_level)
    app = create_app(settings)
    # What was imported stays: the collector needn't look at all of it again and again.
    gc.collect()
    gc.freeze()
    return app


def create_app(settings: Settings) -> FastAPI:
    """Return the application. It connects to nothing before its lifespan begins."""
    app = _routed(_lifespan(settings))
    app.state.readiness = Readiness()
    app.state.pings = {}
    app.state.lease_state = lambda: "unknown"
    app.state.allow_guests = settings.allow_anonymous
    # The last one added is the outermost.
    app.add_middleware(
        BodyLimit,
        limit_bytes=settings.max_body_bytes,
        larger={
            TEXTS: settings.max_text_bytes,
            UPLOADS: settings.max_upload_bytes + AROUND_A_FILE_BYTES,
            IMPORT: settings.max_import_bytes,
        },
    )
    app.add_middleware(Dispatcher, of=app, limit_bytes=settings.max_body_bytes)
    app.add_middleware(RequestLog)
    app.add_middleware(SecurityHeaders)
    return app


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document, which depends on no setting."""
    return _routed(None).openapi()


Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def _routed(lifespan: Lifespan | None) -> FastAPI:
    app = contract.Api(
        title="Cairn",
        version=CONTRACT_VERSION,
        summary="Memory for AI agents",
        description=DESCRIPTION,
        servers=[{"url": "/", "description": "This service"}],
        openapi_url="/openapi.json",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=contract.operation_id,
        lifespan=lifespan,
    )
    refusals.install(app)
    app.include_router(health.router, dependencies=[Depends(strict)])
    for router in routing.routers():
        app.include_router(router, dependencies=[Depends(health.serving), Depends(strict)])
    return app


def _lifespan(settings: Settings) -> Lifespan:
    @asynccontextmanager
    async def live(app: FastAPI) -> AsyncIterator[None]:
        readiness: Readiness = app.state.readiness
        try:
            await migrations.require_supported(settings.database_url.get_secret_value())
        except migrations.UnsupportedSchemaError as error:
            structlog.get_logger().error("unsupported schema", reason=str(error))
            readiness.become(State.UNSUPPORTED_SCHEMA)
            yield
            return
        async with (
            wiring.build(settings, API_STATEMENT_TIMEOUT_S) as wired,
            httpx.AsyncClient(timeout=FETCH_TIMEOUT_S) as client,
        ):
            app.state.provided = wired.provided
            app.state.directory = wired.directory
            app.state.require_known = partial(require_known, wired.db)
            app.state.registered = wired.registered
            app.state.access_log = wired.access_log
            app.state.pings = wired.pings
            app.state.lease_state = lambda: wired.lease.state
            app.state.tokens = Tokens(_keys(settings, client), _policy(settings))
            app.state.cursor_key = wired.vault.derive("list cursors")
            app.state.operator_key = wired.vault.derive("operators")
            await wired.erasures.apply_register()
            readiness.become(State.READY)
            with drains_first(readiness, settings.drain_s):
                yield
            readiness.become(State.DRAINING)

    return live


def _keys(settings: Settings, client: httpx.AsyncClient) -> Keys:
    if settings.auth_jwks_url:
        return PublishedKeys(settings.auth_jwks_url, client)
    return SharedSecret(settings.auth_secret.get_secret_value())


def _policy(settings: Settings) -> Policy:
    return Policy(
        issuer=settings.auth_issuer or None,
        audience=settings.auth_audience or None,
        tenant_claim=settings.auth_tenant_claim,
        max_life_s=settings.auth_max_life_s,
        default_scopes=frozenset(settings.default_scopes.split()),
    )
