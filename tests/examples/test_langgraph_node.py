"""The nodes for LangGraph in graphs of LangGraph's own, with a model that says what it is told to."""

from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import Any, Protocol

import httpx
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from tests.conftest import MakeClient

CREATE = {"If-None-Match": "*"}
THREAD: RunnableConfig = {"configurable": {"thread_id": "thread-7"}}
CALL = {"name": "opening_hours", "args": {"place": "museum"}, "id": "call_1", "type": "tool_call"}


class Scripted:
    """A model that says one thing after the other, and remembers what it was told."""

    def __init__(self, *says: AIMessage) -> None:
        self.says = list(says)
        self.told: list[Sequence[AnyMessage]] = []

    async def __call__(self, messages: Sequence[AnyMessage]) -> AIMessage:
        self.told.append(list(messages))
        return self.says.pop(0)


class Nodes(Protocol):
    """The two nodes."""

    async def before_model(self, state: Any, config: RunnableConfig) -> Any: ...  # noqa: ANN401 - its own type of state
    async def after_model(self, state: Any, config: RunnableConfig) -> Any: ...  # noqa: ANN401 - the same


def opening_hours(place: str) -> str:
    """Return when a place is open."""
    return f"The {place} is open from ten."


async def messages_of(alice: httpx.AsyncClient) -> list[dict[str, Any]]:
    """Return what the session of the thread holds, oldest first."""
    session = (await alice.post("/v1/sessions", json={"external_id": "thread-7"})).json()["id"]
    found: list[dict[str, Any]] = (await alice.get(f"/v1/sessions/{session}/messages")).json()["items"]
    return found[::-1]


async def test_the_model_knows_what_the_user_wants_and_what_was_said_in_another_thread(
    client: MakeClient, langgraph_node: ModuleType
) -> None:
    alice = await client()
    (await alice.put("/v1/preferences/language", json={"value": "en-GB"}, headers=CREATE)).raise_for_status()
    model = Scripted(AIMessage("Noted."), AIMessage("In the blue cupboard."))
    agent = langgraph_node.make_agent(langgraph_node.CairnMemory(alice), model)
    other: RunnableConfig = {"configurable": {"thread_id": "thread-1"}}
    await agent.ainvoke({"messages": [HumanMessage("The scanner is in the blue cupboard.")]}, other)
    result = await agent.ainvoke({"messages": [HumanMessage("Where is the scanner?")]}, THREAD)
    memory, question = model.told[-1]
    assert isinstance(memory, SystemMessage)
    assert "en-GB" in memory.text
    assert "blue cupboard" in memory.text
    assert question.text == "Where is the scanner?"
    assert result["messages"][-1].text == "In the blue cupboard."
    assert [(each["role"], each["content"]) for each in await messages_of(alice)] == [
        ("user", "Where is the scanner?"),
        ("assistant", "In the blue cupboard."),
    ]


async def test_an_answer_is_tied_to_what_the_model_was_told(client: MakeClient, langgraph_node: ModuleType) -> None:
    alice = await client()
    agent = langgraph_node.make_agent(langgraph_node.CairnMemory(alice), Scripted(AIMessage("Good morning.")))
    result = await agent.ainvoke({"messages": [HumanMessage("Good morning")]}, THREAD)
    said = (await messages_of(alice))[-1]
    assert said["context_id"] == result["context_id"]
    log = (await alice.get(f"/v1/memory-log/{said['context_id']}")).raise_for_status().json()
    assert log["query"] == "Good morning"


async def test_a_tool_call_is_kept_with_its_result_and_each_model_call_has_its_memory(
    client: MakeClient, langgraph_node: ModuleType
) -> None:
    alice = await client()
    model = Scripted(AIMessage("", tool_calls=[CALL]), AIMessage("From ten."))
    agent = with_tools(langgraph_node, langgraph_node.CairnMemory(alice), model)
    await agent.ainvoke({"messages": [HumanMessage("When does the museum open?")]}, THREAD)
    kept = await messages_of(alice)
    assert [each["role"] for each in kept] == ["user", "assistant", "tool", "assistant"]
    assert kept[1]["tool_calls"][0]["function"]["name"] == "opening_hours"
    assert (kept[2]["tool_call_id"], kept[2]["content"]) == ("call_1", "The museum is open from ten.")
    assert [type(each) for each in model.told[1]] == [SystemMessage, HumanMessage, AIMessage, ToolMessage]


async def test_a_node_that_runs_again_after_a_crash_keeps_nothing_twice(
    client: MakeClient, langgraph_node: ModuleType
) -> None:
    alice = await client()
    calls = 0

    async def crashes_once(_: Sequence[AnyMessage]) -> AIMessage:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionError
        return AIMessage("Here I am.")

    memory = langgraph_node.CairnMemory(alice)
    agent = langgraph_node.make_agent(memory, crashes_once)
    question = HumanMessage("Are you there?", id="message-1")
    with pytest.raises(ConnectionError):
        await agent.ainvoke({"messages": [question]}, THREAD)
    await agent.ainvoke({"messages": [question]}, THREAD)
    assert [each["role"] for each in await messages_of(alice)] == ["user", "assistant"]


async def test_a_thread_with_a_checkpointer_goes_on(client: MakeClient, langgraph_node: ModuleType) -> None:
    alice = await client()
    model = Scripted(AIMessage("One."), AIMessage("Two."))
    agent = with_tools(langgraph_node, langgraph_node.CairnMemory(alice), model, InMemorySaver())
    for text in ("Say one", "Say two"):
        await agent.ainvoke({"messages": [HumanMessage(text)]}, THREAD)
    assert [each["content"] for each in await messages_of(alice)] == ["Say one", "One.", "Say two", "Two."]


def with_tools(
    module: ModuleType,
    memory: "Nodes",
    model: Callable[[Sequence[AnyMessage]], Awaitable[AIMessage]],
    saver: InMemorySaver | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return a graph that calls tools until the model has said something, with memory before each call of it."""

    async def answer(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [await model([SystemMessage(state["memory"]), *state["messages"]])]}

    def way(state: dict[str, Any]) -> str:
        return "tools" if state["messages"][-1].tool_calls else "keep"

    graph = StateGraph(module.State)
    graph.add_node("remember", memory.before_model)
    graph.add_node("answer", answer)
    graph.add_node("tools", ToolNode([opening_hours]))
    graph.add_node("keep", memory.after_model)
    graph.add_edge(START, "remember")
    graph.add_edge("remember", "answer")
    graph.add_conditional_edges("answer", way, ["tools", "keep"])
    graph.add_edge("tools", "remember")
    graph.add_edge("keep", END)
    return graph.compile(checkpointer=saver)
