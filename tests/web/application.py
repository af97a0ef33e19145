"""A small application made of the web's parts, with one route of each kind, and a register of users in memory."""

import asyncio
import io
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import httpx
from fastapi import APIRouter, Body, Depends, FastAPI, Query, Request, Response
from pydantic import AfterValidator, Field
from starlette.responses import StreamingResponse

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.idempotency import Answer, Replayed
from app.core.ids import parse, show
from app.core.scope import Scope, Subject
from app.core.timing import in_store
from app.core.versions import Exactly, Precondition, etag, expected
from app.verifications.patterns.expression import Expressions
from app.web import contract, health, refusals
from app.web.auth import allow
from app.web.direct import Dispatcher, direct
from app.web.health import Readiness, State
from app.web.idempotency import attempted, rendered, respond
from app.web.log import RequestLog
from app.web.middleware import STRANGERS_BYTES, BodyLimit, SecurityHeaders
from app.web.paging import Paging, next_cursor, page_of
from app.web.preconditions import conditional, conditional_or_any, not_modified
from app.web.problems import problems
from app.web.provide import provided
from app.web.strict import strict
from app.web.tokens import Policy, SharedSecret, Tokens
from app.web.wire import Answer as WireAnswer
from app.web.wire import Json, JsonObject, Moment
from app.web.wire import Request as WireRequest

SECRET = "a secret of thirty-two bytes or more"
LIMIT_BYTES = 4_096
UPLOAD_LIMIT_BYTES = 2 * STRANGERS_BYTES
MERGE_PATCH = "application/merge-patch+json"


class Register:
    """A directory in memory: each subject gets a reference, until it is erased."""

    def __init__(self) -> None:
        self.known: dict[Subject, UUID] = {}
        self.erased: dict[Subject, UUID] = {}
        self.forgotten: list[UUID] = []
        self.refusal: str | None = None

    async def enter(self, subject: Subject, issued_at: int, token_id: str | None) -> UUID:
        del issued_at, token_id
        if self.refusal:
            raise AppError(self.refusal)
        if subject in self.erased:
            raise AppError("erased")
        return self.known.setdefault(subject, uuid4())

    async def reference(self, subject: Subject) -> UUID | None:
        return self.known.get(subject)

    async def last_erased(self, subject: Subject) -> UUID | None:
        return self.erased.get(subject)

    def forget(self, usr: UUID) -> None:
        self.forgotten.append(usr)


class Trail:
    """An access log in memory."""

    def __init__(self) -> None:
        self.entries: list[tuple[Scope, AuditEntry]] = []

    def put(self, scope: Scope, entry: AuditEntry) -> None:
        self.entries.append((scope, entry))


class NothingRegistered:
    """A tenant that has registered nothing of its own."""

    async def enter(self, tenant: str) -> Expressions:
        assert tenant
        return Expressions([])


class Things:
    """A service with state, as wiring would build it."""

    def __init__(self) -> None:
        self.version = 3


class Part(WireRequest):
    """A thing inside a thing."""

    name: str


def _never(value: str) -> str:
    raise ValueError(f"{value} is not what was meant")  # what a validator must not do, and may


class Thing(WireRequest):
    """A body with a field of each kind."""

    text: Annotated[str, Field(min_length=1, max_length=100)]
    count: Annotated[int, Field(ge=1, le=9)] = 1
    kind: Literal["plain", "fancy"] = "plain"
    parts: list[Part] = Field(default_factory=list)
    data: JsonObject | None = None
    value: Json = None
    at: Moment | None = None
    odd: Annotated[str, AfterValidator(_never)] | None = None


class Shown(WireAnswer):
    """What a thing looks like."""

    version: int
    text: str = ""


router = APIRouter(prefix="/v1/things", tags=["things"])
Reader = Annotated[Scope, Depends(allow("sessions:read"))]
Writer = Annotated[Scope, Depends(allow("sessions:write"))]
Service = Annotated[Things, Depends(provided(Things))]
If = Annotated[Precondition, Depends(conditional)]
IfAny = Annotated[Precondition, Depends(conditional_or_any)]


@router.get("")
async def list_things(
    caller: Reader,
    page: Annotated[Paging, Depends(page_of)],
    kind: Annotated[list[str] | None, Query()] = None,
    before: Annotated[Moment | None, Query()] = None,
) -> dict[str, Any]:
    del caller, kind, before
    return {"limit": page.limit, "after": page.after, "next_cursor": next_cursor({"at": 17, "id": "a"})}


@router.get("/of-others")
async def list_others(caller: Reader, page: Annotated[Paging, Depends(page_of)]) -> dict[str, Any]:
    del caller
    return {"after": page.after}


@router.get("/page")
@direct
async def list_page(
    caller: Reader,
    page: Annotated[Paging, Depends(page_of)],
    before: Annotated[Moment | None, Query()] = None,
) -> Response:
    del caller
    return respond(rendered(Shown(version=page.limit, text=f"{before} {page.after}")))


@router.post("/fails")
@direct
async def fail_directly(body: Thing, caller: Writer) -> Response:
    del caller
    raise KeyError(body.text) if body.count == 1 else AppError("not_found")


@router.post("", status_code=201, response_model=Shown, responses=problems("conflict"))
@direct
async def make(request: Request, body: Thing, caller: Writer) -> Response:
    del caller
    attempt = await attempted(request, lambda made: rendered(made, 201))
    shown = Shown(version=1, text=body.text)
    headers = {"X-Attempt": f"{attempt.route} {attempt.request.hex()}"} if attempt else {}
    return respond(rendered(shown, 201, version=1, headers=headers))


@router.post("/again")
async def make_again(caller: Writer) -> None:
    del caller
    raise Replayed(Answer(201, {"ETag": etag(1)}, b"{}"))


@router.post("/upload", status_code=202)
async def upload(request: Request, caller: Writer) -> dict[str, int]:
    del caller
    return {"bytes": sum([len(chunk) async for chunk in request.stream()])}


@router.post("/large")
async def make_large(body: Annotated[dict[str, str], Body()], caller: Writer) -> dict[str, int]:
    del caller
    return {"chars": len(body["text"])}


@router.get("/fails")
async def fail(caller: Reader, told: str) -> None:
    del caller
    raise ValueError(told)


@router.get("/stops")
async def stop(caller: Reader, told: str) -> Response:
    del caller

    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ValueError(told)

    return StreamingResponse(broken())


@router.get("/refuses/{code}")
async def refuse(caller: Reader, code: str) -> None:
    del caller
    raise AppError(code)


@router.get("/slow")
async def wait(caller: Reader) -> None:
    del caller

    async def ask() -> None:
        with in_store():
            await asyncio.sleep(0.01)

    await ask()
    await asyncio.create_task(ask())


@router.delete("/me")
async def forget(caller: Annotated[Scope, Depends(allow("forget", erased_ok=True))]) -> dict[str, str]:
    return {"usr": show("usr", caller.usr)}


@router.get("/scope")
async def read_scope(caller: Reader) -> dict[str, Any]:
    return {
        "tenant": caller.tenant,
        "usr": show("usr", caller.usr),
        "agent": caller.agent,
        "actor": caller.actor,
        "request_id": caller.request_id,
        "address": caller.address,
    }


@router.get("/{thing_id}", response_model=Shown)
@direct
async def read(request: Request, thing_id: str, caller: Reader, things: Service) -> Response:
    del caller
    parse("ses", thing_id)
    if not_modified(request, things.version):
        return Response(status_code=304, headers={"ETag": etag(things.version)})
    return respond(rendered(Shown(version=things.version), version=things.version))


@router.put("/{thing_id}", response_model=Shown)
@direct
async def replace(thing_id: str, body: Thing, caller: Writer, things: Service, precondition: If) -> Response:
    del thing_id, body, caller
    expected(precondition, things.version)
    return respond(rendered(Shown(version=things.version + 1), version=things.version + 1))


@router.patch("/{thing_id}")
async def change(
    thing_id: str,
    body: Annotated[Thing, Body(media_type=MERGE_PATCH)],
    caller: Writer,
    precondition: IfAny,
) -> dict[str, Any]:
    del thing_id, body, caller
    return {"versions": sorted(precondition.versions) if isinstance(precondition, Exactly) else []}


@router.delete("/{thing_id}", status_code=204)
async def delete(thing_id: str, caller: Writer, things: Service, precondition: IfAny) -> None:
    del thing_id, caller
    expected(precondition, things.version)


def make_app(readiness: Readiness | None = None, *, past_the_framework: bool = True) -> FastAPI:
    app = contract.Api(title="Things", redirect_slashes=False, generate_unique_id_function=contract.operation_id)
    refusals.install(app)
    app.include_router(health.router, dependencies=[Depends(strict)])
    app.include_router(router, dependencies=[Depends(health.serving), Depends(strict)])
    app.state.readiness = readiness or ready()
    app.state.pings = {}
    app.state.lease_state = lambda: "held"
    app.state.cursor_key = b"a key for cursors"
    app.state.operator_key = b"a key for operators"
    app.state.tokens = Tokens(SharedSecret(SECRET), Policy())
    app.state.directory = Register()
    app.state.access_log = Trail()
    app.state.registered = NothingRegistered()
    app.state.provided = {Things: Things()}
    app.add_middleware(
        BodyLimit,
        limit_bytes=LIMIT_BYTES,
        larger={"/v1/things/large": UPLOAD_LIMIT_BYTES, "/v1/things/upload": UPLOAD_LIMIT_BYTES},
    )
    if past_the_framework:
        app.add_middleware(Dispatcher, of=app, limit_bytes=LIMIT_BYTES)
    app.add_middleware(RequestLog)
    app.add_middleware(SecurityHeaders)
    return app


def ready() -> Readiness:
    readiness = Readiness()
    readiness.become(State.READY)
    return readiness


class Site:
    """The application, what it has logged and audited, and a client whose token may do everything."""

    def __init__(self, app: FastAPI, client: httpx.AsyncClient, written: io.BytesIO) -> None:
        self.app = app
        self.client = client
        self.written = written

    @property
    def register(self) -> Register:
        register: Register = self.app.state.directory
        return register

    @property
    def trail(self) -> Trail:
        trail: Trail = self.app.state.access_log
        return trail
