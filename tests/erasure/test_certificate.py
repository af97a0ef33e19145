"""What a certificate says beyond the counts: what stays and until when, who outside had texts, what is pending."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from click.testing import CliRunner

from app.base import outside
from app.commands.index import sweep_files
from app.core.recipients import Recipient
from app.core.scope import Scope
from app.erasure.service import Erasures
from app.infra.chroma.client import ChromaClient
from app.infra.chroma.files import ChromaFiles
from app.infra.chroma.index import ChromaIndex
from app.infra.crypto.signing import verify
from app.infra.embedded.stack import Stack
from app.infra.redis.userdata import HotData
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope

MODEL = Recipient("summary", "models.example", "tiny")
OTHER = Recipient("embedding", "vectors.example", "small")
DIMENSIONS = 16


@pytest_asyncio.fixture
async def nobody_is_sent_anything(wiring: Wiring) -> AsyncIterator[None]:
    """As it is where no model is served, before the test and after it."""
    await wiring.db.note_recipients([])
    yield
    await wiring.db.note_recipients([])


@pytest.fixture
def files(stack: Stack) -> ChromaFiles:
    return ChromaFiles(stack.data / "chroma")


@pytest_asyncio.fixture
async def index(settings: Settings) -> AsyncIterator[ChromaIndex]:
    client = ChromaClient(settings.chroma_url)
    yield ChromaIndex(client, "a model@1")
    await client.close()


def erasures_with(wiring: Wiring, settings: Settings, files: ChromaFiles) -> Erasures:
    hot = next(kind for kind in wiring.user_data if isinstance(kind, HotData))
    life = timedelta(seconds=settings.auth_max_life_s)
    return Erasures(wiring.db, wiring.vault, wiring.directory, hot, wiring.user_data, life, files)


async def indexed(wiring: Wiring, index: ChromaIndex, scope: Scope) -> None:
    """Give a user vectors in Chroma."""
    await index.create(scope.usr)
    vectors = np.random.default_rng(1).normal(size=(20, DIMENSIONS))
    await index.upsert(await wiring.db.box(scope), [uuid.uuid4() for _ in vectors], vectors)


async def test_it_says_what_stays_why_on_which_basis_and_until_when(client: MakeClient) -> None:
    alice = await client()
    retained = (await alice.delete("/v1/users/me")).json()["certificate"]["document"]["retained"]
    assert {each["kind"] for each in retained} == {"users", "audit", "erasures"}
    for each in retained:
        assert each.keys() == {"kind", "why", "basis", "until"}
        assert all(each.values())


@pytest.mark.usefixtures("nobody_is_sent_anything")
async def test_it_names_who_was_sent_texts_since_the_user_came(wiring: Wiring, client: MakeClient) -> None:
    await wiring.db.note_recipients([OTHER])
    await wiring.db.note_recipients([MODEL])
    alice = await client()
    await alice.get("/v1/profile")
    await wiring.db.note_recipients([])
    document = (await alice.delete("/v1/users/me")).json()["certificate"]["document"]
    (named,) = [each for each in document["recipients"] if each["host"].endswith(".example")]
    assert (named["purpose"], named["host"], named["model"]) == ("summary", "models.example", "tiny")
    assert named["since"] < named["until"] <= document["finished_at"]
    assert "erasure is to be asked of them" in document["recipients_note"]


@pytest.mark.usefixtures("nobody_is_sent_anything")
async def test_it_says_so_where_nothing_was_sent(client: MakeClient) -> None:
    alice = await client()
    document = (await alice.delete("/v1/users/me")).json()["certificate"]["document"]
    assert document["recipients"] == []
    assert document["recipients_note"].startswith("no text was sent")


@pytest.mark.usefixtures("nobody_is_sent_anything")
async def test_who_is_sent_texts_again_is_named_with_no_end(wiring: Wiring, client: MakeClient) -> None:
    for sent in ([MODEL, OTHER], [], [OTHER]):
        await wiring.db.note_recipients(sent)
    alice = await client()
    document = (await alice.delete("/v1/users/me")).json()["certificate"]["document"]
    assert [(each["host"], each["until"]) for each in document["recipients"]] == [("vectors.example", None)]


@pytest.mark.parametrize(
    ("wishes", "sent"),
    [
        ({}, []),
        ({"llm_base_url": "https://models.example/v1", "llm_model": "tiny"}, []),
        (
            {"llm_base_url": "https://key@models.example:8443/v1", "llm_model": "tiny", "summariser": "openai"},
            [MODEL],
        ),
        (
            {"llm_base_url": "https://vectors.example/v1", "embedder": "openai:small"},
            [OTHER],
        ),
        (
            {"rerank_base_url": "https://key@ranks.example/v1", "rerank_model": "cross"},
            [Recipient("rerank", "ranks.example", "cross")],
        ),
    ],
)
def test_the_settings_say_who_is_sent_texts(settings: Settings, wishes: dict[str, str], sent: list[Recipient]) -> None:
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    assert outside(Settings.model_validate({**given, **wishes})) == sent


async def test_what_chroma_leaves_on_its_disk_is_pending_until_it_is_swept(
    wiring: Wiring, settings: Settings, scope: MakeScope, files: ChromaFiles, index: ChromaIndex
) -> None:
    alice, bob = await scope(), await scope()
    for person in (alice, bob):
        await indexed(wiring, index, person)
    await files.sweep()
    erasures = erasures_with(wiring, settings, files)
    first = (await erasures.forget(alice)).certificate
    assert first is not None
    assert "removed by the worker" in first["document"]["pending"][0]
    await index.drop(index.name(alice.usr))
    found = await erasures.verify(alice)
    assert found.clean
    assert found.unswept
    await erasures.sweep(alice)
    second = (await erasures.read(alice)).certificate
    assert second is not None
    assert second["document"]["pending"] == []
    assert second["document"]["swept_at"] > second["document"]["finished_at"]
    assert verify(second["document"], second["signature"]["value"], wiring.vault.signer.public_jwk())
    assert (await erasures.verify(alice)).unswept == 0
    assert await index.count(bob.usr) == 20


async def test_the_files_of_a_server_elsewhere_are_swept_by_its_operator(
    wiring: Wiring, scope: MakeScope, stack: Stack, files: ChromaFiles, index: ChromaIndex, client: MakeClient
) -> None:
    alice = await client()
    document = (await alice.delete("/v1/users/me")).json()["certificate"]["document"]
    assert "`cairn index sweep`" in document["pending"][0]
    carol = await scope()
    await indexed(wiring, index, carol)
    await files.sweep()
    await index.drop(index.name(carol.usr))
    assert await files.count() == 1
    swept = await asyncio.to_thread(CliRunner().invoke, sweep_files, [str(stack.data / "chroma")])
    assert (swept.exit_code, swept.output) == (0, "1 folder(s) of deleted collections removed\n")
    assert await files.count() == 0


def test_a_folder_that_isnt_chromas_is_refused(tmp_path: Path) -> None:
    (tmp_path / str(uuid.uuid4())).mkdir()
    refused = CliRunner().invoke(sweep_files, [str(tmp_path)])
    assert refused.exit_code == 1
    assert "isn't Chroma's" in refused.output
    assert len(list(tmp_path.iterdir())) == 1
