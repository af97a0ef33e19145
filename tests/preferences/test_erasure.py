"""What preferences and profiles keep of a user is sealed, and goes to the last row, for that user alone."""

from datetime import UTC, datetime

import asyncpg
from sqlalchemy import update

from app.core.audit import AuditEntry
from app.core.moments import NOW
from app.core.scope import Scope
from app.core.versions import Absent, Exactly
from app.infra.db.tables import users
from app.infra.embedded.stack import Stack
from app.preferences.candidates import Candidates
from app.preferences.judgement import Proposal
from app.preferences.model import Statement
from app.preferences.proposals import Proposals
from app.wiring import Wiring
from tests.conftest import MakeScope
from tests.preferences.wired import preferences_of, provided
from tests.profile.wired import profiles_of

PHRASE = "planted-phrase-of-the-test"
TABLES = (
    "preferences",
    "preference_versions",
    "preference_candidates",
    "preference_evidence",
    "profiles",
    "profile_versions",
    "idempotency",
)
COUNTS = {"preference_versions": 2, "preference_candidates": 2, "profile_versions": 3, "idempotency": 0}


async def fill(wiring: Wiring, scope: Scope) -> None:
    """Write versions of a preference and of the profile, and let an inference wait beside one that is rejected."""
    preferences, profiles = preferences_of(wiring), profiles_of(wiring)
    said = Statement(PHRASE, {PHRASE: PHRASE}, reason=PHRASE)
    await preferences.write(scope, said, None, Absent(), None)
    await preferences.write(scope, said, None, Exactly(frozenset({1})), None)
    proposals, candidates = provided(wiring, Proposals), provided(wiring, Candidates)
    waiting = []
    for value in (PHRASE, [PHRASE]):
        outcome = await proposals.propose(scope, Proposal(PHRASE, value, 0.5, reason=PHRASE), None)
        waiting += [outcome.candidate] if outcome.candidate else []
    await candidates.reject(scope, waiting[1].id, Exactly(frozenset({waiting[1].version})), None)
    login = datetime(2031, 5, 7, tzinfo=UTC)
    changes = {"name": PHRASE, "role": PHRASE, "department": PHRASE, "attributes": {PHRASE: PHRASE}}
    for version in range(2):
        await profiles.patch(scope, changes | {"last_login_at": login}, Exactly(frozenset({version})), None, PHRASE)
    await profiles.erase_field(scope, ("attributes", PHRASE), Exactly(frozenset({2})), None)


async def test_nothing_that_was_said_is_readable_in_a_row(wiring: Wiring, stack: Stack, scope: MakeScope) -> None:
    alice = await scope("alice")
    await fill(wiring, alice)
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        for table in TABLES:
            rows = await connection.fetch(f"SELECT t::text AS row FROM {table} t WHERE usr = $1", alice.usr)  # noqa: S608 - names from above
            assert len(rows) == COUNTS.get(table, 1)
            for row in rows:
                assert PHRASE not in row["row"]
                assert PHRASE.encode().hex() not in row["row"]
                assert "2031-05" not in row["row"]
    finally:
        await connection.close()


async def test_all_rows_of_an_erased_user_go_and_nobody_elses(wiring: Wiring, scope: MakeScope) -> None:
    alice, bob = await scope("alice"), await scope("bob")
    await fill(wiring, alice)
    await fill(wiring, bob)
    async with wiring.db.gate(alice) as (tx, _):
        await tx.change(update(users).filter_by(usr=alice.usr).values(state="erasing"), AuditEntry("erase", "user"))
    kinds = [kind for kind in wiring.user_data if kind.name in {"preferences", "profile", "changes"}]
    assert {kind.name: await kind.count(alice) for kind in kinds} == {
        "preferences": 6,
        "profile": 4,
        "changes": 5,
    }
    for _ in range(2):
        for kind in kinds:
            await kind.erase(alice)
    assert [await kind.count(alice) for kind in kinds] == [0, 0, 0]
    assert (await profiles_of(wiring).read(bob)).profile.version == 3
    assert (await preferences_of(wiring).read(bob, PHRASE, None, NOW)).preference.version.number == 2
