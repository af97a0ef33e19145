"""The demonstration is a test: its story comes out as it should, and what doesn't is told by the exit status."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from click.testing import CliRunner
from fastapi import FastAPI

from app import wiring as product
from app.commands.demo import SCOPES, demo
from app.demo import play, real
from app.demo.visitor import Service, UnexpectedError
from app.settings import Settings
from tests.conftest import SECRET, make_token
from tests.knowledge.conftest import drop_old_jobs, working

TURNS = [
    ("mon", "2023-04-24", "Ruth", "I moved my greenhouse tomatoes to the north wall."),
    ("mon", "2023-04-24", "assistant", "They will get less sun there."),
    ("tue", "2023-04-25", "Ruth", "Never suggest chemicals. Where did I put the tomatoes?"),
    ("tue", "2023-04-25", "assistant", "By the north wall."),
]


@pytest_asyncio.fixture
async def worker(wiring: product.Wiring, settings: Settings, tenant: str) -> AsyncIterator[None]:
    """A worker that runs beside the test."""
    await drop_old_jobs(settings, tenant)
    async with working(wiring, settings):
        yield


MakeService = Callable[..., Service]


@pytest_asyncio.fixture
async def service(app: FastAPI, tenant: str) -> AsyncIterator[tuple[MakeService, list[str]]]:
    """A maker of what the demonstration runs against, and the lines that it tells."""
    told: list[str] = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://cairn.test") as client:

        def make(scope: str = SCOPES) -> Service:
            return Service(client, lambda sub: make_token(sub, tenant, scope=scope), told.append)

        yield make, told


@pytest.mark.usefixtures("worker")
async def test_the_story_comes_out_as_it_should(service: tuple[MakeService, list[str]]) -> None:
    make, told = service
    await play.play(make())
    text = "\n".join(told)
    for sign in ("412", "404 Not Found", "190 euros", "4417", "2086", "百分之二", "counted again: 0 items left"):
        assert sign in text
    assert "usr_" in text
    assert "Bearer" not in text


@pytest.mark.usefixtures("worker")
async def test_a_conversation_and_documents_of_ones_own_are_played(
    service: tuple[MakeService, list[str]],
    tmp_path: Path,
) -> None:
    make, told = service
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "garden.md").write_text("# Garden\n\nTomatoes need six hours of sun a day.\n", encoding="utf-8")
    talks = real.read_talks(_written(tmp_path / "talk.jsonl"))
    await real.play(make(), talks, real.read_folder(folder), ["Where are the tomatoes?"])
    text = "\n".join(told)
    for sign in ("4 messages in 2 session(s)", "north wall", "six hours of sun", "2023-04-24", "0 items left"):
        assert sign in text


async def test_an_outcome_that_isnt_the_right_one_is_an_error(service: tuple[MakeService, list[str]]) -> None:
    make, _ = service
    with pytest.raises(UnexpectedError, match="missing_scope"):
        await play.play(make("sessions"))


def test_a_conversation_keeps_its_sessions_speakers_and_times(tmp_path: Path) -> None:
    first, second = real.read_talks(_written(tmp_path / "talk.jsonl"))
    assert (first.external_id, second.external_id) == ("ruth/mon", "ruth/tue")
    said, answered = first.messages
    assert said["name"] == "Ruth"
    assert (said["role"], answered["role"]) == ("user", "assistant")
    assert said["created_at"] < answered["created_at"] < second.messages[0]["created_at"]


@pytest.mark.parametrize(
    "text", ["", "not json\n", "[]\n", '{"session_id": "a"}\n', '{"session_id": "a", "speaker": "b"}']
)
def test_what_isnt_a_conversation_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(real.UnreadableError):
        real.read_talks(path)


def test_a_service_that_isnt_there_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CAIRN_AUTH_SECRET", SECRET)
    # Nothing can listen on the port 0.
    result = CliRunner().invoke(demo, ["--base", "http://127.0.0.1:0"])
    assert result.exit_code == 1
    assert "is `cairn up` running?" in result.output


def _written(path: Path) -> Path:
    lines = [
        json.dumps(
            {"conversation_id": "ruth", "session_id": session, "session_time": day, "speaker": who, "text": text}
        )
        for session, day, who, text in TURNS
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
