"""What sessions give to a prompt: constraints, summary and last messages of one, and what was said before."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from app.core.ids import show
from app.core.memory import Candidate, Question, Tier
from app.core.scope import Scope
from app.sessions.model import Hit, Message, Recall, View, units
from app.sessions.recall import Recalls
from app.sessions.view import Views

CONSTRAINTS: Final = "constraints"
SUMMARY: Final = "summary"
MESSAGES: Final = "messages"
RECALL: Final = "recall"
LAST_MESSAGES: Final = 3
# Messages don't change: each is at its first version for good.
MESSAGE_VERSION: Final = 1
# Found, and in the window as well: looked for, since some of what is found falls out for that.
DUPLICATE: Final = "duplicate"


class SessionSource:
    """Gives what is remembered of sessions. A Source of app.core.memory."""

    kinds = frozenset({SUMMARY, MESSAGES, RECALL})

    def __init__(self, views: Views, recalls: Recalls) -> None:
        """Take how sessions are read, and how their record is searched."""
        self._views = views
        self._recalls = recalls

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return the candidates of the kinds that are asked for. Raises `not_found` for a session that isn't there."""
        view = await self._views.view(scope, question.session_id) if question.session_id else None
        found: list[Candidate] = []
        if view is not None and SUMMARY in question.include:
            found += _summary(view)
        shown: Sequence[Sequence[Message]] = ()
        if view is not None and MESSAGES in question.include:
            shown = [unit for unit in units(view.window) if _unit_text(unit)][-LAST_MESSAGES:]
            found += [_unit(unit, order) for order, unit in enumerate(shown)]
        if RECALL in question.include:
            in_prompt = {message.id for unit in shown for message in unit}
            found += await self._recalled(scope, question, view, in_prompt)
        return found

    async def _recalled(
        self,
        scope: Scope,
        question: Question,
        view: View | None,
        in_prompt: set[UUID],
    ) -> list[Candidate]:
        """Return what was said that matters, first what isn't in the window: that is near at hand already."""
        window = {message.id for message in view.window} if view else set()
        limit = question.limit + len(window)
        hits = (await self._recalls.recall(scope, Recall(question.text, limit))).hits
        fresh = [hit for hit in hits if hit.message.id not in window and hit.message.text.strip()]
        candidates = [_hit(hit, order) for order, hit in enumerate(fresh[: question.limit])]
        repeated = [hit for hit in hits if hit.message.id in in_prompt][: question.limit]
        return candidates + [_hit(hit, len(candidates) + place, DUPLICATE) for place, hit in enumerate(repeated)]


def _summary(view: View) -> list[Candidate]:
    session = view.session
    bound = [
        Candidate(
            kind=CONSTRAINTS,
            id=show("ses", session.id),
            version=session.version,
            text=constraint,
            tier=Tier.CONSTRAINTS,
            origin="stated",
            order=order,
        )
        # The newest first: where there is room for some of them only, it is theirs.
        for order, constraint in enumerate(reversed(view.summary.constraints))
    ]
    if not view.summary.gist:
        return bound
    prose = Candidate(
        kind=SUMMARY,
        id=show("ses", session.id),
        version=session.version,
        text=view.summary.gist,
        tier=Tier.SESSION,
        origin="said",
    )
    return [*bound, prose]


def _unit(unit: Sequence[Message], order: int) -> Candidate:
    """Return a message, or a tool call with its result as one."""
    last = unit[-1]
    return Candidate(
        kind=MESSAGES,
        id=show("msg", last.id),
        version=MESSAGE_VERSION,
        text=_unit_text(unit),
        tier=Tier.SESSION,
        origin="said",
        created_at=last.created_at,
        order=order,
        labels=_labels(unit[0]),
    )


def _hit(hit: Hit, order: int, ignored: str | None = None) -> Candidate:
    message = hit.message
    return Candidate(
        kind=RECALL,
        id=show("msg", message.id),
        version=MESSAGE_VERSION,
        text=message.text,
        tier=Tier.FOUND,
        origin="said",
        created_at=message.created_at,
        score=hit.score,
        order=order,
        ignored=ignored,
        labels=_labels(message),
    )


def _labels(message: Message) -> dict[str, str]:
    name = message.body.name
    return {"role": message.role.value} | ({"name": name} if name else {})


def _unit_text(unit: Sequence[Message]) -> str:
    lines = [(message.role.value, _line(message)) for message in unit]
    if len(lines) == 1:
        return lines[0][1]
    return "\n".join(f"{role}: {line}" for role, line in lines)


def _line(message: Message) -> str:
    """Return what a message says; of a call, what is called."""
    called = ", ".join(_called(call) for call in message.body.tool_calls)
    return " ".join(part for part in (message.text.strip(), f"[calls {called}]" if called else "") if part)


def _called(call: object) -> str:
    """Return the name of what is called, wherever the provider puts it."""
    if isinstance(call, dict):
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else call.get("name")
        if isinstance(name, str):
            return name
    return "a tool"
