"""The audit on the wire."""

from typing import Annotated

from pydantic import Field

from app.audit.model import Entry, Page
from app.core.ids import show
from app.core.scope import NOBODY
from app.infra.audit.chain import FIRST_NUMBER
from app.infra.audit.verifying import Fault, Verdict
from app.web.wire import Answer, Moment, Request

MAX_BATCH = 2**53 - 1


class EntryAnswer(Answer):
    """One access: who did what with which thing, when, and how it ended. No content."""

    at: Moment
    user_id: str | None = Field(description="Whose memory it was; null for what is the tenant's.")
    actor: str = Field(description="`user`, `operator` or `worker`.")
    agent: str | None = Field(description="Through which agent: what the token names.")
    operator: str | None = Field(description="Which operator, as a reference that is the same in all entries.")
    action: str
    kind: str
    item: str | None = Field(description="The id of what was accessed.")
    outcome: str = Field(description="`done`, or the code of the refusal.")
    request_id: str
    address: str = Field(description="The class of the caller's address: `loopback`, `private`, `public`.")
    reason: str | None = Field(description="Why an operator did it, in their words.")
    batch: int | None = Field(description="The batch that it is sealed in; null while it is new.")


class TrailAnswer(Answer):
    """A page of a trail, newest first."""

    items: list[EntryAnswer]
    next_cursor: str | None


class VerifyRequest(Request):
    """Where to begin."""

    from_batch: Annotated[int, Field(ge=FIRST_NUMBER, le=MAX_BATCH)] = FIRST_NUMBER


class FindingAnswer(Answer):
    """What is wrong with a batch, or with a run of batches that are gone."""

    fault: Fault
    batch: int
    to_batch: int


class VerdictAnswer(Answer):
    """What was gone through, and what was found."""

    intact: bool = Field(description="Whether nothing was found in what was gone through.")
    findings: list[FindingAnswer]
    first_batch: int
    last_batch: int | None = Field(description="The last batch that was gone through.")
    next_batch: int | None = Field(description="Ask again from here; null where all was gone through.")
    entries: int = Field(description="Sealed entries that were gone through: the caller's, or the tenant's.")
    unsealed: int | None = Field(description="Entries of the tenant too new to be sealed; null for a user.")


def trail_answer(page: Page, next_cursor: str | None) -> TrailAnswer:
    """Return a page as it is shown."""
    return TrailAnswer(items=[entry_answer(entry) for entry in page.entries], next_cursor=next_cursor)


def verdict_answer(verdict: Verdict, *, own: bool) -> VerdictAnswer:
    """Return a verdict as it is shown. How much others have done isn't a user's to know."""
    return VerdictAnswer(
        intact=verdict.is_intact,
        findings=[FindingAnswer.model_validate(finding) for finding in verdict.findings],
        first_batch=verdict.first_batch,
        last_batch=verdict.last_batch,
        next_batch=verdict.next_batch,
        entries=verdict.own_rows if own else verdict.rows,
        unsealed=None if own else verdict.unsealed,
    )


def entry_answer(entry: Entry) -> EntryAnswer:
    """Return an entry as it is shown."""
    return EntryAnswer(
        at=entry.at,
        user_id=None if entry.usr == NOBODY else show("usr", entry.usr),
        actor=entry.actor,
        agent=entry.agent,
        operator=show("opr", entry.operator) if entry.operator else None,
        action=entry.action,
        kind=entry.kind,
        item=entry.shown_item,
        outcome=entry.outcome,
        request_id=entry.request_id,
        address=entry.address,
        reason=entry.reason,
        batch=entry.batch,
    )
