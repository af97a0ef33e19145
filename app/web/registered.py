"""What the tenant of a request has registered: known before its body is read into a model, which masks it."""

from starlette.requests import Request

from app.core.withholding import Registered
from app.web.strict import KEEPS, strict_path


async def withhold_registered(request: Request, tenant: str) -> None:
    """Have the body of a request masked by what the tenant has registered. What only reads or removes keeps nothing.

    Raises `invalid` where the address of a write holds such a number, and `store_unavailable`.
    """
    if request.method in KEEPS:
        registered: Registered = request.app.state.registered
        await registered.enter(tenant)
        await strict_path(request)
