"""Recall: by words at once, by meaning when the worker has been there; only what is the user's own and still there."""

import pytest

from app.core.jobs import Handler
from app.sessions.indexing import INDEX_JOB
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope
from tests.sessions.talk import append, chatter, open_session, recall, said


def indexer(wiring: Wiring) -> Handler:
    return next(handler for handler in wiring.handlers if handler.name == INDEX_JOB)


async def test_a_message_is_found_by_its_words_before_it_is_indexed_and_by_meaning_after(
    client: MakeClient,
    scope: MakeScope,
    wiring: Wiring,
) -> None:
    alice, user = await client("alice"), await scope("alice")
    session = await open_session(alice)
    (message,) = await append(alice, session, said("My daughter is allergic to peanuts.", name="Alice"))
    await chatter(alice, session, 30)
    await append(alice, session, said("我下周要去上海出差。"))
    by_words = await recall(alice, "peanuts", top_k=1)
    assert by_words["index"]["pending"] == 32
    assert [hit["message_id"] for hit in by_words["hits"]] == [message["id"]]
    assert (await recall(alice, "去上海出差", top_k=1))["hits"][0]["text"] == "我下周要去上海出差。"
    await indexer(wiring).run(user, {})
    by_meaning = await recall(alice, "Which food must the child not eat?", top_k=1)
    assert by_meaning["index"]["pending"] == 0
    (hit,) = by_meaning["hits"]
    assert (hit["message_id"], hit["session_id"]) == (message["id"], session["id"])
    assert (hit["role"], hit["name"], hit["text"]) == ("user", "Alice", "My daughter is allergic to peanuts.")
    assert hit["created_at"] == message["created_at"]
    assert hit["before"] is None
    assert (await recall(alice, "出差的目的地", top_k=1))["hits"][0]["text"] == "我下周要去上海出差。"


@pytest.mark.parametrize("is_indexed", [False, True])
async def test_a_single_character_finds_what_holds_it(
    client: MakeClient, scope: MakeScope, wiring: Wiring, *, is_indexed: bool
) -> None:
    alice, user = await client("alice"), await scope("alice")
    session = await open_session(alice)
    texts = [
        "我家的猫很胖。",
        "昨天她买了猫粮",
        "这是一只猫",
        "Mein 猫 heißt Mia.",
        "我每天早上跑步。",
        "上海的天气很好",
    ]
    await append(alice, session, *map(said, texts))
    if is_indexed:
        await indexer(wiring).run(user, {})
    for question in ("猫", "猫？"):
        found = (await recall(alice, question, top_k=4))["hits"]
        assert {hit["text"] for hit in found} == set(texts[:4])
    (first, *_) = (await recall(alice, "狗 粮"))["hits"]
    assert first["text"] == "昨天她买了猫粮"


async def test_what_is_many_is_packed_and_still_found(client: MakeClient, scope: MakeScope, wiring: Wiring) -> None:
    alice, user = await client("alice"), await scope("alice")
    session = await open_session(alice)
    (needle,) = await append(alice, session, said("The code word is heliotrope."))
    await chatter(alice, session, 600)
    for _ in range(2):  # a job may run twice
        await indexer(wiring).run(user, {})
    found = await recall(alice, "heliotrope", top_k=3)
    assert found["index"]["pending"] == 0
    assert found["hits"][0]["message_id"] == needle["id"]
    answer = await alice.delete(f"/v1/sessions/{session['id']}/messages/{needle['id']}")
    assert answer.status_code == 204
    assert needle["id"] not in [hit["message_id"] for hit in (await recall(alice, "heliotrope", top_k=100))["hits"]]


async def test_recall_is_narrowed_by_session_role_and_time(client: MakeClient) -> None:
    alice = await client()
    one, two = await open_session(alice), await open_session(alice)
    may, june = "2024-05-04T10:00:00Z", "2024-06-04T10:00:00Z"
    await append(alice, one, said("zebra in May", created_at=may), said("zebra in June", created_at=june))
    await append(alice, two, said("zebra from the assistant", "assistant", created_at=june))

    async def texts(**wishes: object) -> set[str]:
        return {hit["text"] for hit in (await recall(alice, "zebra", **wishes))["hits"]}

    everything = {"zebra in May", "zebra in June", "zebra from the assistant"}
    assert await texts() == everything
    assert await texts(session_id=two["id"]) == {"zebra from the assistant"}
    assert await texts(role="user") == {"zebra in May", "zebra in June"}
    assert await texts(before=june) == {"zebra in May"}
    assert await texts(after=june) == everything - {"zebra in May"}
    assert await texts(after=june, role="user", session_id=one["id"]) == {"zebra in June"}
    assert len(await texts(top_k=1)) == 1


async def test_neighbours_come_on_request(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    await append(alice, session, said("What did you see?"), said("A quagga."), said("Where?"))
    (hit, *_) = (await recall(alice, "quagga", top_k=1, neighbours=True))["hits"]
    assert (hit["before"]["content"], hit["after"]["content"]) == ("What did you see?", "Where?")
    (bare, *_) = (await recall(alice, "quagga", top_k=1))["hits"]
    assert (bare["before"], bare["after"]) == (None, None)


async def test_a_user_with_nothing_finds_nothing(client: MakeClient) -> None:
    found = await recall(await client("nobody"), "anything at all")
    assert found == {"hits": [], "index": {"pending": 0}, "mode": "hybrid"}


async def test_messages_that_say_nothing_wait_for_no_vector(
    client: MakeClient,
    scope: MakeScope,
    wiring: Wiring,
) -> None:
    alice, user = await client("alice"), await scope("alice")
    session = await open_session(alice)
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    await append(
        alice,
        session,
        said(None, "assistant", tool_calls=[call]),
        said("", "tool", tool_call_id="c"),
        said(" \n"),
        said("long " * 10_000),
        said("字" * 50_000),
    )
    await indexer(wiring).run(user, {})
    assert (await recall(alice, "long"))["index"]["pending"] == 0


LONG = {
    "en": (
        "The harbour was dug by hand and took eleven winters. " * 40,
        "Puffins nest there in spring. The keeper feeds the birds herring and sprats. What they like best is fish.",
        "What do the seabirds eat?",
    ),
    "zh": ("港口是用手挖出来的，一共花了十一个冬天。" * 60, "春天海鹦在那里筑巢，守塔人拿鲱鱼喂它们。", "海鸟的食物"),
}


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_what_stands_at_the_end_of_a_long_answer_is_found_by_its_meaning(
    client: MakeClient, scope: MakeScope, wiring: Wiring, lang: str
) -> None:
    alice, user = await client("alice"), await scope("alice")
    session = await open_session(alice)
    filler, end, question = LONG[lang]
    (_, long, *_) = await append(
        alice,
        session,
        said("Tell me about it."),
        said(filler + end, "assistant"),
        said("And the other one?"),
        said(filler, "assistant"),
    )
    await indexer(wiring).run(user, {})
    (hit, *_) = (await recall(alice, question))["hits"]
    assert hit["message_id"] == long["id"]
