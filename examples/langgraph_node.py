"""Cairn as the memory of a LangGraph agent: one node before the model, one after it.

    pip install langgraph httpx
    CAIRN_TOKEN=... MODEL_URL=http://localhost:11434/v1 MODEL=qwen3 python examples/langgraph_node.py

The thread of the graph is the session of Cairn; whose memory it is says the token. Nodes may run again after a crash:
the keys that go with what they write are made of the messages' ids, so that nothing is kept twice.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypedDict

import httpx
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, convert_to_openai_messages
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

Model = Callable[[Sequence[AnyMessage]], Awaitable[AIMessage]]


class State(TypedDict, total=False):
    """What the graph carries. `kept` counts the messages that Cairn has."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory: str
    context_id: str
    kept: int


class CairnMemory:
    """The two nodes. One client, with its token, is one user."""

    def __init__(self, cairn: httpx.AsyncClient, budget_tokens: int = 1_000) -> None:
        """Take a client of the service, and how many tokens of memory the model is given."""
        self._cairn = cairn
        self._budget_tokens = budget_tokens

    async def before_model(self, state: State, config: RunnableConfig) -> State:
        """Keep what is new in the thread, and bring what the model should know for it: in one request."""
        new = state["messages"][state.get("kept", 0) :]
        question = next(each.text for each in reversed(state["messages"]) if isinstance(each, HumanMessage))
        wish = {"query": question[:4_000], "budget_tokens": self._budget_tokens}
        answer = await self._append(new, config, {"context": wish})
        found = answer.get("context")
        if found is None:  # the messages are stored; why there is no context stands in `context_problem`
            found = await self._post("/v1/context", {"session_id": await self._session(config), **wish}, None)
        return {"memory": found["prompt"], "context_id": found["context_id"], "kept": len(state["messages"])}

    async def after_model(self, state: State, config: RunnableConfig) -> State:
        """Keep what the model said, tied to what it was told: later one can ask why it said so."""
        new = state["messages"][state["kept"] :]
        await self._append(new, config, {}, state["context_id"])
        return {"kept": len(state["messages"])}

    async def _append(
        self, new: Sequence[AnyMessage], config: RunnableConfig, more: dict[str, Any], context_id: str | None = None
    ) -> dict[str, Any]:
        told = [_told(message) for message in new]
        for message in told:
            if context_id is not None and message["role"] == "assistant":
                message["context_id"] = context_id
        path = f"/v1/sessions/{await self._session(config)}/messages"
        return await self._post(path, {"messages": told, **more}, new[-1].id)

    async def _session(self, config: RunnableConfig) -> str:
        """Return the session of the thread: it is made when it is asked for first."""
        thread = config["configurable"]["thread_id"]
        session_id: str = (await self._post("/v1/sessions", {"external_id": thread}, None))["id"]
        return session_id

    async def _post(self, path: str, body: dict[str, Any], key: str | None) -> dict[str, Any]:
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = await self._cairn.post(path, json=body, headers=headers)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found


def _told(message: AnyMessage) -> dict[str, Any]:
    """Return a message as the service takes it: OpenAI's form, with its texts joined."""
    told = convert_to_openai_messages(message)
    kept = {name: told[name] for name in ("role", "tool_calls", "tool_call_id", "name") if told.get(name)}
    return kept | ({"content": message.text} if message.text else {})


def make_agent(memory: CairnMemory, model: Model) -> CompiledStateGraph[State, None, State, State]:
    """Return a graph that answers with its memory in front of the conversation."""

    async def answer(state: State) -> State:
        """Ask the model. What the thread said before stands in the memory: only this turn goes with it."""
        last = max(place for place, each in enumerate(state["messages"]) if isinstance(each, HumanMessage))
        return {"messages": [await model([SystemMessage(state["memory"]), *state["messages"][last:]])]}

    graph = StateGraph(State)
    graph.add_node("remember", memory.before_model)
    graph.add_node("answer", answer)
    graph.add_node("keep", memory.after_model)
    graph.add_edge(START, "remember")
    graph.add_edge("remember", "answer")
    graph.add_edge("answer", "keep")
    graph.add_edge("keep", END)
    return graph.compile()


async def main() -> None:
    """Talk to a model behind an OpenAI-compatible endpoint, in the terminal."""
    headers = {"Authorization": f"Bearer {os.environ['CAIRN_TOKEN']}"}
    url = os.environ.get("CAIRN_URL", "http://127.0.0.1:8000")
    async with httpx.AsyncClient(base_url=url, headers=headers) as cairn, httpx.AsyncClient(timeout=60) as models:

        async def model(messages: Sequence[AnyMessage]) -> AIMessage:
            body = {"model": os.environ["MODEL"], "messages": convert_to_openai_messages(messages)}
            answer = await models.post(f"{os.environ['MODEL_URL']}/chat/completions", json=body)
            return AIMessage(answer.raise_for_status().json()["choices"][0]["message"]["content"])

        agent = make_agent(CairnMemory(cairn), model)
        config: RunnableConfig = {"configurable": {"thread_id": "terminal"}}
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            said: State = {"messages": [HumanMessage(line)]}
            print((await agent.ainvoke(said, config))["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
