"""A user's rights on the wire."""

from typing import Annotated

from pydantic import Field

from app.core.processing import Processing
from app.rights.model import Choices
from app.web.wire import Answer, Request


class ProcessingRequest(Request):
    """What the user lets be done; all three are said."""

    remember: Annotated[bool, Field(description="Whether anything new is kept. Deleting is always possible.")]
    infer: Annotated[bool, Field(description="Whether anything is taken from messages, or proposed by agents.")]
    external_models: Annotated[bool, Field(description="Whether texts may be sent to models outside.")]

    def processing(self) -> Processing:
        """Return what it says."""
        return Processing(self.remember, self.infer, self.external_models)


class ProcessingAnswer(Answer):
    """What the user lets be done."""

    version: int
    remember: bool
    infer: bool
    external_models: bool


def processing_answer(choices: Choices) -> ProcessingAnswer:
    """Show choices."""
    chosen = choices.processing
    return ProcessingAnswer(
        version=choices.version,
        remember=chosen.remember,
        infer=chosen.infer,
        external_models=chosen.external_models,
    )
