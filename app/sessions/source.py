"""What sessions give to a prompt: constraints, summary and last messages of one, and what was said before."""

import asyncio
from collections.abc import Sequence
from typing import Final

from app.core.assembly import without_dense
from app.core.errors import AppError
from app.core.ids import show
from app.core.memory import Candidate, Question, Tier
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.sessions import store
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
# Found, and among the last messages as well; found, and others match better.
DUPLICATE: Final = "duplicate"
BELOW_THRESHOLD: Final = "below_threshold"
# So many more are looked at, to tell what was left out.
BEYOND: Final = 3


class SessionSource:
    """Gives the summary and the last messages of the session that is asked for. A Source of app.core.memory."""

    kinds = frozenset({SUMMARY, MESSAGES})

    def __init__(self, views: Views) -> None:
        """Take how sessions are read."""
        self._views = views

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return what stands in the session. Raises `not_found` for one that isn't there."""
        if question.session_id is None or not self.kinds & question.include:
            return []
        view = await self._views.view(scope, question.session_id)
        found = _summary(view) if SUMMARY in question.include else []
        if MESSAGES in question.include:
            spoken = [unit for unit in units(view.window) if _unit_text(unit)]
            last = spoken[-LAST_MESSAGES:]
            # The newest goes in first: where there is room for some of them only, it is theirs.
            found += [_unit(unit, len(last) - place) for place, unit in enumerate(last, 1)]
        return found


class RecallSource:
    """Gives what was said before that matters now. A Source of app.core.memory.

    Apart from the other, since it waits for the embedder: where that is late, the session's constraints aren't. What
    the prompt shows already is left out. What is in the session's window and not in the prompt may be recalled: a model
    that is given the prompt sees it nowhere else.
    """

    kinds = frozenset({RECALL})

    def __init__(self, db: Database, recalls: Recalls) -> None:
        """Take the record, and how it is searched."""
        self._db = db
        self._recalls = recalls

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return what matches best. What the prompt has already, as one of the last messages, is marked so, and so is
        what others match better than.
        """
        if not self.kinds & question.include:
            return []
        wanted = question.limit + LAST_MESSAGES + BEYOND
        recall = Recall(question.text, wanted, waits_until_s=question.waits_until_s)
        last, found = await asyncio.gather(self._last(scope, question), self._recalls.recall(scope, recall))
        shown = [hit for hit in found.hits if _is_shown(hit.message, question, last)]
        fresh = [hit for hit in found.hits if hit not in shown]
        judged: list[tuple[Hit, str | None]] = [(hit, None) for hit in fresh[: question.limit]]
        judged += [(hit, BELOW_THRESHOLD) for hit in fresh[question.limit :]] + [(hit, DUPLICATE) for hit in shown]
        told = [_hit(hit, order, ignored) for order, (hit, ignored) in enumerate(judged)]
        return [*told, without_dense(RECALL, found.lacks)] if found.lacks else told

    async def _last(self, scope: Scope, question: Question) -> int:
        """Return the number of the session's last message; 0 where no messages of it are shown."""
        if question.session_id is None or MESSAGES not in question.include:
            return 0
        async with self._db.read(scope) as tx:
            session = await store.find_session(tx, question.session_id)
        if session is None:
            raise AppError("not_found")
        return session.last


def _is_shown(message: Message, question: Question, last: int) -> bool:
    return bool(last) and message.session_id == question.session_id and message.seq > last - LAST_MESSAGES


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
        place=-order,
        labels=_labels(unit[0]),
        covers=[show("msg", message.id) for message in unit],
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
