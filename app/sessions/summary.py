"""The summary: how messages that leave the window are folded into it, and how constraints are laid over it."""

from collections.abc import Sequence

from app.infra.summarisers import constraints
from app.infra.summarisers.port import Summariser, Summary, SummaryInput, Turn
from app.sessions.model import Draft, Message, Role


def stated(draft: Draft | Message) -> Sequence[str]:
    """Return the sentences of a message that bind the answers to come, or take such a thing back. Only users bind."""
    return constraints.constraints(draft.body.content or "") if draft.role is Role.USER else []


async def fold(summariser: Summariser, summary: Summary, leaving: Sequence[Message]) -> Summary:
    """Return the summary of what it has and of the messages that leave the window, oldest first."""
    turns = tuple(Turn(message.role.value, message.text) for message in leaving if message.text.strip())
    return await summariser.summarise(SummaryInput(summary, turns)) if turns else summary


def overlay(summary: Summary, window: Sequence[Message]) -> Summary:
    """Return the summary with what users stated in the window, however little of it has been summarised yet."""
    newer = [sentence for message in window for sentence in message.constraints]
    if not newer:
        return summary
    folded = constraints.fold(summary.constraints, newer)
    return Summary(folded.kept, summary.gist, summary.omitted + folded.omitted)


def text_of(summary: Summary) -> str:
    """Return a summary as one text: the constraints first, a line each, in the user's words."""
    return "\n".join([*summary.constraints, *([summary.gist] if summary.gist else [])])
