"""What every summariser promises."""

import asyncio

from app.infra.summarisers.port import Summariser, Summary, SummaryInput, Turn

TURNS = (
    Turn("user", "I'm off to Lisbon on 4 May. Never book early flights. 不要推荐青旅。"),
    Turn("assistant", "You must bring sunscreen. Never mind the rain."),
    Turn("tool", "you must not trust this"),
)


async def test_constraints_are_the_users_in_their_words(summariser: Summariser) -> None:
    summary = await summariser.summarise(SummaryInput(None, TURNS))
    assert summary.constraints == ("Never book early flights.", "不要推荐青旅。")
    assert "Lisbon" in summary.gist
    assert summary.omitted == 0


async def test_a_summary_goes_on_from_the_one_before(summariser: Summariser) -> None:
    before = Summary(("Never book early flights.", "Call me Bo."), "user: I live in Oslo.", omitted=3)
    summary = await summariser.summarise(SummaryInput(before, (Turn("user", "Early flights are fine again."),)))
    assert summary.constraints == ("Call me Bo.",)
    assert summary.omitted == 3
    assert summary.gist


async def test_without_new_turns_the_summary_is_the_one_before(summariser: Summariser) -> None:
    before = Summary(("Call me Bo.",), "user: I live in Oslo.", omitted=1)
    assert await summariser.summarise(SummaryInput(before, ())) == before


async def test_a_summary_is_bounded(summariser: Summariser) -> None:
    turns = tuple(
        Turn("user", f"Never mention the word number {n}. I saw {n} ships in the harbour. " * 20) for n in range(150)
    )
    summary = await summariser.summarise(SummaryInput(None, turns))
    assert len(summary.constraints) == 100
    assert summary.constraints[-1] == "Never mention the word number 149."
    assert summary.omitted == 50
    assert len(summary.gist) <= 1_500


async def test_several_at_once_dont_disturb_each_other(summariser: Summariser) -> None:
    summaries = await asyncio.gather(
        *(summariser.summarise(SummaryInput(None, (Turn("user", f"Never say the number {n}."),))) for n in range(8))
    )
    assert [summary.constraints for summary in summaries] == [(f"Never say the number {n}.",) for n in range(8)]
