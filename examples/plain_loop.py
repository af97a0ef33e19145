"""An agent in a plain loop: one request of Cairn before the model, one after it.

CAIRN_TOKEN=... MODEL_URL=http://localhost:11434/v1 MODEL=qwen3 python examples/plain_loop.py
"""

import os
import sys

import httpx

cairn = httpx.Client(
    base_url=os.environ.get("CAIRN_URL", "http://127.0.0.1:8000"),
    headers={"Authorization": f"Bearer {os.environ['CAIRN_TOKEN']}"},
)
session = cairn.post("/v1/sessions", json={"external_id": "terminal"}).raise_for_status().json()["id"]
for line in sys.stdin:
    turn = {"messages": [{"role": "user", "content": line.strip()}], "context": {"query": line.strip()}}
    memory = cairn.post(f"/v1/sessions/{session}/messages", json=turn).raise_for_status().json()["context"]
    messages = [{"role": "system", "content": memory["prompt"]}, *turn["messages"]]
    body = {"model": os.environ["MODEL"], "messages": messages}
    answer = httpx.post(f"{os.environ['MODEL_URL']}/chat/completions", json=body, timeout=60).raise_for_status()
    said = answer.json()["choices"][0]["message"]["content"]
    kept = {"messages": [{"role": "assistant", "content": said, "context_id": memory["context_id"]}]}
    cairn.post(f"/v1/sessions/{session}/messages", json=kept).raise_for_status()
    print(said, flush=True)
