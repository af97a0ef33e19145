"""What knowledge gives to a prompt, and that nothing of it is left of a user who is forgotten."""

from datetime import UTC, datetime

from sqlalchemy import update

from app.core.audit import AuditEntry
from app.core.ids import parse, show
from app.core.memory import Question, Tier
from app.infra.db.tables import users
from app.knowledge.model import Description, Mode, chunk_id
from app.knowledge.search import Search
from app.knowledge.source import KnowledgeSource
from tests.conftest import MakeScope
from tests.knowledge.conftest import NOTE, Knowledge

KINDS = {"knowledge", "vectors", "index"}


def question(text: str, *include: str) -> Question:
    return Question(text, None, frozenset(include), datetime.now(UTC))


async def test_the_best_three_passages_are_candidates_in_their_order(knowledge: Knowledge, scope: MakeScope) -> None:
    someone, other = await scope(), await scope()
    text = "".join(f"# Rule {number}\n\nRule {number} of the club is about boats.\n\n" for number in range(6))
    document = await knowledge.ready(
        someone, text + "# Tea\n\nTea is served at four.", Description("rules", "The club")
    )
    source = KnowledgeSource(knowledge.service(Search))
    found = await source.gather(someone, question("when is tea served", "knowledge"))
    assert [candidate.ignored for candidate in found] == [None] * 3 + ["below_threshold"] * 3
    assert [candidate.order for candidate in found] == list(range(6))
    best = found[0]
    assert (best.text, best.kind, best.tier) == ("# Tea\n\nTea is served at four.", "knowledge", Tier.FOUND)
    assert (best.origin, best.version) == ("document", 1)
    assert dict(best.labels) == {"title": "The club", "doc_type": "rules", "document_id": show("doc", document.id)}
    assert parse("chk", best.id) == chunk_id(document.id, 1, 6)
    assert await source.gather(someone, question("when is tea served", "profile")) == []
    assert await source.gather(other, question("when is tea served", "knowledge")) == []
    assert await source.gather(someone, question(" ", "knowledge")) == []


async def test_nothing_is_left_of_a_user_who_is_forgotten(knowledge: Knowledge, scope: MakeScope) -> None:
    someone, other = await scope(), await scope()
    for user in (someone, other):
        await knowledge.ready(user, "Otters hold hands.")
        await knowledge.documents.add(user, "Not ingested yet.", NOTE, None)
    async with knowledge.wiring.db.gate(someone) as (tx, _):
        closed = update(users).filter_by(usr=someone.usr).values(state="erasing")
        await tx.change(closed, AuditEntry("forget", "user"))
    kinds = [kind for kind in knowledge.wiring.user_data if kind.name in KINDS]
    assert {kind.name: await kind.count(someone) > 0 for kind in kinds} == dict.fromkeys(KINDS, True)
    for _ in range(2):
        for kind in kinds:
            await kind.erase(someone)
        assert [await kind.count(someone) for kind in kinds] == [0, 0, 0]
    assert await knowledge.texts(other, "otters") == ["Otters hold hands."]


async def test_a_single_character_finds_the_passage_that_holds_it(knowledge: Knowledge, scope: MakeScope) -> None:
    alice = await scope()
    for text in ("宠物医院给猫打疫苗。", "高铁可以提前十四天订票。", "博物馆周一不开门。", "早餐在二楼餐厅供应。"):
        await knowledge.ready(alice, text)
    for mode in (Mode.HYBRID, Mode.LEXICAL):
        (hit,) = (await knowledge.find(alice, "猫", 1, mode)).hits
        assert hit.passage.text == "宠物医院给猫打疫苗。"
