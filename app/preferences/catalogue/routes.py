"""HTTP for the catalogue: operators of a tenant register keys, and close the catalogue to all others."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from app.core.scope import Operator
from app.core.versions import Precondition, etag
from app.preferences.catalogue.schemas import (
    CatalogueAnswer,
    CatalogueKeyAnswer,
    CatalogueKeyRequest,
    CatalogueSettings,
    CatalogueSettingsAnswer,
    catalogue_answer,
    entry_answer,
    registration,
    settings_answer,
)
from app.preferences.catalogue.service import Catalogue
from app.preferences.model import KEY_PATTERN
from app.web.idempotency import rendered, respond
from app.web.operators import operate
from app.web.paging import Paging, next_cursor, page_of
from app.web.preconditions import conditional, not_modified
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(prefix="/v1/admin/catalog", tags=["catalogue"])

Keeper = Annotated[Operator, Depends(operate("admin:catalog"))]
Service = Annotated[Catalogue, Depends(provided(Catalogue))]
If = Annotated[Precondition, Depends(conditional)]
Page = Annotated[Paging, Depends(page_of)]
Key = Annotated[str, Path(pattern=KEY_PATTERN)]


@router.get("", response_model=CatalogueSettingsAnswer)
async def read_settings(request: Request, operator: Keeper, catalogue: Service) -> Response:
    """Read whether keys that aren't registered are refused."""
    closing = await catalogue.closing(operator)
    if not_modified(request, closing.version):
        return Response(status_code=304, headers={"ETag": etag(closing.version)})
    return respond(rendered(settings_answer(closing), version=closing.version))


@router.put("", response_model=CatalogueSettingsAnswer)
async def write_settings(
    body: CatalogueSettings,
    operator: Keeper,
    catalogue: Service,
    precondition: If,
) -> Response:
    """Close the catalogue: keys that aren't registered are refused, and what is stored under one stays. Or open it."""
    closing = await catalogue.close(operator, precondition, closed=body.closed)
    return respond(rendered(settings_answer(closing), version=closing.version))


@router.get("/preferences")
async def list_keys(operator: Keeper, catalogue: Service, paging: Page) -> CatalogueAnswer:
    """List the registered keys in their order."""
    after = str(paging.after["key"]) if paging.after else None
    found, more = await catalogue.registered(operator, after, paging.limit)
    return catalogue_answer(found, next_cursor({"key": found[-1].key}) if more else None)


@router.get("/preferences/{key}", response_model=CatalogueKeyAnswer, responses=problems("not_found"))
async def read_key(request: Request, key: Key, operator: Keeper, catalogue: Service) -> Response:
    """Read what is said of a key."""
    entry = await catalogue.read(operator, key)
    if not_modified(request, entry.version):
        return Response(status_code=304, headers={"ETag": etag(entry.version)})
    return respond(rendered(entry_answer(entry), version=entry.version))


@router.put(
    "/preferences/{key}",
    response_model=CatalogueKeyAnswer,
    responses={201: {"model": CatalogueKeyAnswer}, **problems("quota_exceeded")},
)
async def register_key(
    key: Key,
    body: CatalogueKeyRequest,
    operator: Keeper,
    catalogue: Service,
    precondition: If,
) -> Response:
    """Register a key, or change what is said of it. Values that are stored stay, and must meet it when next written."""
    entry, created = await catalogue.register(operator, key, registration(body), precondition)
    return respond(rendered(entry_answer(entry), 201 if created else 200, version=entry.version))


@router.delete("/preferences/{key}", status_code=204, response_model=None, responses=problems("not_found"))
async def remove_key(key: Key, operator: Keeper, catalogue: Service, precondition: If) -> Response:
    """Take a key out of the catalogue. Values that are stored under it stay."""
    stub = await catalogue.remove(operator, key, precondition)
    return respond(rendered(None, 204, version=stub.version))
