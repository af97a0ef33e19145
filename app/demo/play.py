"""Plays the story: two conversations of one user, what is kept of them and found, who sees nothing, and the end."""

import uuid
from typing import Final

from app.demo import chinese, english
from app.demo.forgetting import forget
from app.demo.memory import add_text, append, assemble, await_indexed, await_ready, has, open_session, recall, search
from app.demo.story import Part
from app.demo.visitor import Service, Visitor, require

KEY: Final = "answer.style"
MERGE_PATCH: Final = {"Content-Type": "application/merge-patch+json"}


async def play(service: Service) -> None:
    """Play all of it. Raises UnexpectedError where an outcome isn't the one that it should be."""
    run = uuid.uuid4().hex[:8]
    # New people each time: a user who was forgotten needs a token issued a minute later to begin anew.
    maya, ben = service.visitor(f"maya-{run}"), service.visitor(f"ben-{run}")
    heading(service, "1. What is known about Maya: a profile, and a preference that changes twice")
    body = {"name": "Maya Lindqvist", "role": "auditor", "department": "finance"}
    await maya.call("PATCH", "/v1/profile", 200, headers={"If-Match": '"0"', **MERGE_PATCH}, json=body)
    await change_preference_twice(maya)
    heading(service, "2. A conversation in English, and a document")
    session_id, message_id, document_id = await _part(maya, english.PART)
    heading(service, "3. A conversation in Chinese, and a document")
    await _part(maya, chinese.PART)
    heading(service, "4. Ben has the ids, and sees nothing")
    await _other_user(ben, session_id, message_id, document_id)
    heading(service, "5. Maya is forgotten")
    await forget(maya)
    heading(service, "6. So is Ben")
    await ben.call("DELETE", "/v1/users/me", (200, 202))


def heading(service: Service, text: str) -> None:
    """Show where the story is."""
    service.say(f"\n{text}")


async def change_preference_twice(user: Visitor) -> None:
    """Write a preference, change it, and change it once more with a version that is stale by then."""
    path = f"/v1/preferences/{KEY}"
    first, second = "short", "short, amounts first"
    await user.call("PUT", path, 201, headers={"If-None-Match": "*"}, json={"value": first})
    user.tell(f"Version 1: “{first}”.")
    await user.call("PUT", path, 200, headers={"If-Match": '"1"'}, json={"value": second, "reason": "the user said so"})
    user.tell(f"Version 2: “{second}”.")
    stale = await user.call("PUT", path, 412, headers={"If-Match": '"1"'}, json={"value": "long"})
    problem = stale.json()
    user.tell(f"{problem['code']}: the current version is {problem['current_version']}. Nothing was overwritten.")
    require(problem["current_version"] == 2, "the refusal names another version than the current one")  # noqa: PLR2004 - the second of two
    kept = (await user.call("GET", path, 200)).json()
    require(kept["value"] == second, "the stale write changed the preference")
    history = (await user.call("GET", f"{path}/history", 200)).json()["items"]
    user.tell("History: " + "; ".join(f"{item['version']} “{item['value']}”" for item in history))


async def _part(user: Visitor, part: Part) -> tuple[str, str, str]:
    """Play one conversation with its document; return the ids of the session, its first message and the document."""
    session_id = await open_session(user, part.title)
    ids = await append(user, session_id, part.messages)
    require(await append(user, session_id, part.messages) == ids, "a repeated request was stored twice")
    await _session(user, session_id, part)
    document_id = await add_text(user, part.document_title, part.document_type, part.document)
    await await_ready(user, document_id)
    hits = await search(user, part.question_to_documents)
    require(has([hit["text"] for hit in hits[:1]], part.words_in_document), "the answer isn't the first passage")
    await await_indexed(user, session_id)
    found = await recall(user, part.question_to_conversation, session_id)
    require(has([hit["text"] for hit in found], part.words_in_conversation), "what left the window wasn't found")
    context = await assemble(user, part.question_in_context, session_id)
    require(part.constraint in context["prompt"], "the prompt lacks what the user asked for")
    require("short, amounts first" in context["prompt"], "the prompt lacks the preference")
    return session_id, ids[0], document_id


async def _session(user: Visitor, session_id: str, part: Part) -> None:
    session = (await user.call("GET", f"/v1/sessions/{session_id}", 200)).json()
    require(session["message_count"] == len(part.messages), f"the session has {session['message_count']} messages")
    left = len(part.messages) - session["window"]
    user.tell(f"{left} of {len(part.messages)} messages have left the window of {session['window']}. What still binds:")
    for constraint in session["constraints"]:
        user.tell(f"“{constraint}”")
    require(part.constraint in session["constraints"], "what the user asked for isn't among the constraints")


async def _other_user(user: Visitor, session_id: str, message_id: str, document_id: str) -> None:
    for method, path in (
        ("GET", f"/v1/sessions/{session_id}"),
        ("GET", f"/v1/sessions/{session_id}/messages/{message_id}"),
        ("GET", f"/v1/knowledge/documents/{document_id}"),
        ("GET", f"/v1/preferences/{KEY}"),
    ):
        await user.call(method, path, 404)
    body = {"messages": [{"role": "user", "content": "Let me in."}]}
    await user.call("POST", f"/v1/sessions/{session_id}/messages", 404, json=body)
    require(not await search(user, english.PART.question_to_documents), "another user's document was found")
    require(not await recall(user, english.PART.question_to_conversation), "another user's message was found")
    user.tell("Nothing is found, and nothing tells that it exists.")
