"""How a user is forgotten, and how that is checked."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from app.demo.visitor import Visitor, require
from app.infra.crypto.signing import verify

FINISHED_WITHIN_S: Final = 120
POLL_S: Final = 0.5


async def forget(user: Visitor) -> None:
    """Forget the user; show the certificate; check its signature; have every store counted again."""
    began = time.monotonic()
    answer = await user.call("DELETE", "/v1/users/me", (200, 202))
    erasure = await _finished(user, answer.json())
    certificate = erasure["certificate"]
    document = certificate["document"]
    user.tell(f"Done after {time.monotonic() - began:.2f} s. The certificate says, for {document['reference'][:10]}…:")
    for store in document["stores"]:
        if store["before"]:
            counts = f"{store['before']:>4} found, {store['erased']:>4} erased, {store['remaining']} left"
            user.tell(f"{store['store']:>8}  {store['kind']:<12} {counts}")
    require(not any(store["remaining"] for store in document["stores"]), "the certificate says that something is left")
    for kept in document["retained"]:
        user.tell(f"kept: {kept['kind']}: {kept['why']}; {kept['until']}")
    for pending in document["pending"]:
        user.tell(f"pending: {pending}")
    await _check_signature(user, certificate)
    receipt = {"Cairn-Receipt": erasure["receipt"]}
    again = (await user.call("POST", f"/v1/erasures/{erasure['id']}/verify", 200, headers=receipt)).json()
    require(again["clean"], f"something is left: {again['remaining']}")
    user.tell(f"Every store was counted again: {sum(again['remaining'].values())} items left.")
    refused = await user.call("GET", "/v1/preferences", 410)
    user.tell(f"A token from before can't bring the user back: {refused.json()['code']}.")


async def _finished(user: Visitor, erasure: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the erasure when it is done: where a store was down, the worker goes on with it."""
    began = time.monotonic()
    while erasure["state"] != "done":
        require(time.monotonic() - began < FINISHED_WITHIN_S, "the erasure goes on and on: does a worker run?")
        await asyncio.sleep(POLL_S)
        headers = {"Cairn-Receipt": erasure["receipt"]}
        erasure = (await user.quiet("GET", f"/v1/erasures/{erasure['id']}", headers=headers)).json()
    return erasure


async def _check_signature(user: Visitor, certificate: Mapping[str, Any]) -> None:
    keys = {key["kid"]: key for key in (await user.call("GET", "/.well-known/cairn-keys.json", 200)).json()["keys"]}
    signature, document = certificate["signature"], certificate["document"]
    key = keys[signature["kid"]]
    altered = {**document, "finished_at": document["requested_at"]}
    require(verify(document, signature["value"], key), "the signature of the certificate isn't right")
    require(not verify(altered, signature["value"], key), "an altered certificate passes for a good one")
    user.tell("The signature is good, and with one time altered it isn't any more.")
