"""A served model with the extractive summariser behind it: what the model can't give, rules give at once."""

import time

import structlog

from app.core.errors import AppError
from app.core.processing import is_stopped
from app.infra.summarisers.port import Summariser, SummariserUnavailableError, Summary, SummaryInput, UnusableError

# After a failure of the endpoint it is left alone for so long: the next session needn't wait for it too.
LEFT_ALONE_S = 30.0

log = structlog.get_logger("cairn.summaries")


class FallbackSummariser:
    """The model where it answers, else the rules. It always gives a summary; which of the two is only logged."""

    def __init__(self, model: Summariser, rules: Summariser, left_alone_s: float = LEFT_ALONE_S) -> None:
        """Take both. `rules` needs no network."""
        self._model = model
        self._rules = rules
        self._left_alone_s = left_alone_s
        self._broken_until = 0.0

    async def summarise(self, given: SummaryInput) -> Summary:
        """Return the model's summary or the rules'; it always gives one."""
        if time.monotonic() >= self._broken_until:
            try:
                return await self._model.summarise(given)
            except AppError as error:
                if not is_stopped(error):
                    raise
                # Its user doesn't let it be shown to the model.
            except UnusableError as error:
                # One record made it write that: the others needn't do without.
                log.warning("summarised_by_rules", reason=str(error))
            except SummariserUnavailableError as error:
                self._broken_until = time.monotonic() + self._left_alone_s
                log.warning("summarised_by_rules", reason=str(error), left_alone_s=self._left_alone_s)
        return await self._rules.summarise(given)

    async def close(self) -> None:
        """Give back what both hold."""
        await self._model.close()
        await self._rules.close()
