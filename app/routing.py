"""The routes of every feature: what the API serves."""

from fastapi import APIRouter

from app.access import routes as access_routes
from app.account import routes as account_routes
from app.audit import routes as audit_routes
from app.context import routes as context_routes
from app.context.changes import routes as change_routes
from app.erasure import routes as erasure_routes
from app.knowledge import event_routes
from app.knowledge import routes as knowledge_routes
from app.memories import routes as memory_routes
from app.portability import routes as portability_routes
from app.preferences import proposal_routes
from app.preferences import routes as preference_routes
from app.preferences.catalogue import routes as catalogue_routes
from app.profile import routes as profile_routes
from app.rights import routes as right_routes
from app.sessions import routes as session_routes
from app.usage import routes as usage_routes
from app.verifications import routes as verification_routes
from app.verifications.patterns import routes as pattern_routes
from app.web.acting import opened
from app.writer import routes as writer_routes


def routers() -> list[APIRouter]:
    """Return every feature's routes, and those by which operators read what users do."""
    own = _routers()
    return [*own, opened(own)]


def _routers() -> list[APIRouter]:
    return [
        session_routes.router,
        preference_routes.router,
        proposal_routes.router,
        catalogue_routes.router,
        profile_routes.router,
        memory_routes.router,
        knowledge_routes.router,
        event_routes.router,
        change_routes.router,
        context_routes.router,
        account_routes.router,
        erasure_routes.router,
        portability_routes.router,
        portability_routes.operator_router,
        access_routes.router,
        right_routes.router,
        audit_routes.router,
        usage_routes.router,
        verification_routes.router,
        pattern_routes.router,
        writer_routes.router,
    ]
