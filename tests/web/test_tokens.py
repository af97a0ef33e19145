"""Tokens: what is accepted as one, and everything that isn't."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jose import jwt

from app.core.errors import AppError
from app.core.scope import Subject
from app.web import tokens as subject_of_test
from app.web.tokens import MAX_TOKEN_CHARS, SKEW_S, Claims, Policy, SharedSecret, Tokens
from tests.web.application import SECRET
from tests.web.issuer import AUDIENCE, ISSUER, claims, encoded, raw, rsa_signer, signed

POLICY = Policy()
STRICT = Policy(issuer=ISSUER, audience=AUDIENCE)


def verify(token: str, policy: Policy = POLICY, clock: Callable[[], float] = time.time) -> Claims:
    return asyncio.run(Tokens(SharedSecret(SECRET), policy, clock).verify(token))


def refused(token: str, policy: Policy = POLICY) -> bool:
    with pytest.raises(AppError) as caught:
        verify(token, policy)
    return caught.value.code == "unauthorized"


def test_a_good_token_names_its_user() -> None:
    payload = claims(tenant="acme", agent="helpdesk", scope="sessions context:read", jti="t-1", iss=ISSUER)
    assert verify(signed(payload)) == Claims(
        subject=Subject(ISSUER, "acme", "alice"),
        agent="helpdesk",
        scopes=frozenset({"sessions", "context:read"}),
        issued_at=payload["iat"],
        expires_at=payload["exp"],
        token_id="t-1",
        names_user=True,
    )


def test_without_a_tenant_or_an_agent_there_is_the_default_and_none() -> None:
    found = verify(signed(claims()))
    assert (found.subject.tenant, found.agent, found.token_id) == ("default", None, None)


def test_the_name_of_the_tenant_claim_is_a_setting() -> None:
    token = signed(claims(**{"https://acme.example/org": "acme", "tenant": "other"}))
    assert verify(token, Policy(tenant_claim="https://acme.example/org")).subject.tenant == "acme"


@dataclass(frozen=True)
class In:
    """A time so many seconds from when a test runs."""

    seconds: int


@pytest.mark.parametrize(
    "change",
    [
        {"exp": ...},
        {"iat": ...},
        {"sub": ...},
        {"sub": ""},
        {"sub": "   "},
        {"sub": 7},
        {"sub": None},
        {"sub": ["alice"]},
        {"sub": "a" * 256},
        {"sub": "al\x00ice"},
        {"sub": "al\ud800ice"},
        {"exp": In(-1)},
        {"exp": "tomorrow"},
        {"exp": "2000000000"},
        {"exp": True},
        {"exp": None},
        {"exp": []},
        {"exp": 1e400},
        {"iat": In(SKEW_S + 300)},
        {"iat": In(10_000), "exp": In(10_060)},
        {"iat": {}},
        {"iat": -1e400},
        {"exp": In(25 * 3600)},
        {"iat": In(20), "exp": In(10)},
        {"nbf": In(600)},
        {"nbf": []},
        {"jti": 5},
        {"jti": ""},
        {"iss": 5},
        {"iss": ""},
        {"tenant": ""},
        {"tenant": None},
        {"tenant": "a b"},
        {"tenant": "x" * 129},
        {"tenant": "acmé"},
        {"tenant": ["acme"]},
        {"agent": ""},
        {"agent": "a\nb"},
        {"agent": 5},
        {"act": "helpdesk"},
        {"act": {}},
        {"act": {"sub": ""}},
        {"azp": {"a": 1}},
        {"scope": 5},
        {"scope": {"a": "b"}},
        {"scp": [5]},
    ],
)
def test_a_claim_that_is_not_right_is_refused(change: dict[str, Any]) -> None:
    # The parameters are made when tests are collected, minutes before they run: times are told from now.
    now = int(time.time())
    told = {name: now + value.seconds if isinstance(value, In) else value for name, value in change.items()}
    assert refused(signed(claims(**told)))


@pytest.mark.parametrize(
    "change",
    [
        {"aud": ...},
        {"aud": "other"},
        {"aud": []},
        {"aud": ["other"]},
        {"aud": None},
        {"aud": {"cairn": 1}},
        {"iss": ...},
        {"iss": "https://evil.example"},
        {"iss": ISSUER + "/"},
        {"iss": [ISSUER]},
    ],
)
def test_issuer_and_audience_are_required_where_they_are_configured(change: dict[str, Any]) -> None:
    good = {"iss": ISSUER, "aud": ["others", AUDIENCE]}
    assert verify(signed(claims(**good)), STRICT).subject.issuer == ISSUER
    assert refused(signed(claims(**(good | change))), STRICT)


def test_an_audience_that_nobody_configured_is_not_looked_at() -> None:
    assert verify(signed(claims(aud="anything"))).subject.sub == "alice"


def test_times_may_be_fractions_and_clocks_a_little_ahead() -> None:
    now = time.time()
    found = verify(signed(claims(iat=now + SKEW_S / 2, exp=now + 60.5)))
    assert found.expires_at == int(now + 60.5)


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS384", "HS512", "RS256", "ES256", "dir", None, 5])
def test_no_other_algorithm_is_taken_whatever_the_token_says(algorithm: object) -> None:
    payload = json.dumps(claims()).encode()
    token = raw({"typ": "JWT", "alg": algorithm}, payload)
    assert refused(token)
    head, body, _ = token.split(".")
    assert refused(f"{head}.{body}.")


def test_an_algorithm_of_the_same_family_is_refused_with_the_right_secret() -> None:
    assert refused(jwt.encode(claims(), SECRET, algorithm="HS512"))


def test_a_token_signed_with_rsa_is_refused_where_a_secret_is_configured() -> None:
    assert refused(rsa_signer("k1").sign(claims()))


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d.e",
        "x" * (MAX_TOKEN_CHARS + 1),
        "tökèn.a.b",
        raw({"alg": "HS256"}, b"[]"),
        raw({"alg": "HS256"}, b"null"),
        raw({"alg": "HS256"}, b"\xff"),
        raw({"alg": "HS256"}, b"[" * 4_000),
        raw({"alg": "HS256", "crit": ["exp"]}, json.dumps(claims()).encode()),
        raw({"alg": "HS256", "kid": 5}, json.dumps(claims()).encode()),
        encoded(b"[" * 3_000) + ".e30.AAAA",
        encoded(b"[]") + ".e30.AAAA",
        raw({"alg": "HS256"}, b'{"exp": ' + b"9" * 5_000 + b"}"),
    ],
)
def test_what_is_not_a_token_is_refused(token: str) -> None:
    assert refused(token)


def test_a_huge_token_is_refused_though_its_signature_is_right() -> None:
    assert refused(signed(claims(padding="x" * MAX_TOKEN_CHARS)))


def test_characters_that_a_decoder_passes_over_are_refused() -> None:
    token = signed(claims())
    assert verify(token).subject.sub == "alice"
    assert refused(token + "!")
    assert refused(token.replace(".", ".\n", 1))
    assert refused(token + "=")


@given(position=st.integers(0, 10_000), letter=st.sampled_from("ABCxyz019-_."))
def test_a_token_with_another_letter_is_refused(position: int, letter: str) -> None:
    token = signed(claims())
    # The last letter holds bits that no byte is made of: two of them can mean the same signature.
    place = position % (len(token) - 1)
    changed = token[:place] + letter + token[place + 1 :]
    if changed != token:
        assert refused(changed)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
NAMES = ["sub", "iat", "exp", "nbf", "iss", "aud", "jti", "tenant", "agent", "act", "azp", "client_id", "scope", "scp"]


@given(
    changes=st.dictionaries(st.sampled_from(NAMES), json_values, max_size=4), policy=st.sampled_from([POLICY, STRICT])
)
def test_whatever_a_signed_token_claims_it_is_taken_or_refused(changes: dict[str, Any], policy: Policy) -> None:
    token = signed(claims(**({"iss": ISSUER, "aud": AUDIENCE} | changes)))
    try:
        found = verify(token, policy)
    except AppError:
        assert refused(token, policy)
        return
    assert found.subject.sub.strip()
    assert found.subject.tenant
    assert found.agent != ""
    assert time.time() < found.expires_at <= found.issued_at + POLICY.max_life_s


@given(text=st.text(max_size=200))
def test_whatever_is_sent_as_a_token_is_refused(text: str) -> None:
    assert refused(text)


@pytest.mark.parametrize(
    ("named", "agent"),
    [
        ({"act": {"sub": "a"}, "agent": "b", "azp": "c", "client_id": "d"}, "a"),
        ({"agent": "b", "azp": "c", "client_id": "d"}, "b"),
        ({"azp": "c", "client_id": "d"}, "c"),
        ({"client_id": "https://agents.example/helpdesk"}, "https://agents.example/helpdesk"),
        ({}, None),
    ],
)
def test_the_agent_is_the_actor_else_the_named_one_else_the_client(named: dict[str, Any], agent: str | None) -> None:
    assert verify(signed(claims(**named))).agent == agent


@pytest.mark.parametrize("claim", ["client_id", "azp"])
def test_a_token_that_a_client_got_for_itself_names_no_user(claim: str) -> None:
    assert not verify(signed(claims(sub="robot", **{claim: "robot"}))).names_user


@pytest.mark.parametrize(
    ("named", "scopes"),
    [
        ({"scope": "sessions  context:read"}, {"sessions", "context:read"}),
        ({"scp": ["sessions", "context:read"]}, {"sessions", "context:read"}),
        ({"scope": ["sessions"], "scp": "context:read"}, {"sessions", "context:read"}),
        ({"scope": ""}, {"profile"}),
        ({"scp": []}, {"profile"}),
        ({}, {"profile"}),
    ],
)
def test_scopes_come_in_two_forms_and_none_means_the_default(named: dict[str, Any], scopes: set[str]) -> None:
    assert verify(signed(claims(**named)), Policy(default_scopes=frozenset({"profile"}))).scopes == scopes


def test_without_default_scopes_a_token_that_names_none_holds_none() -> None:
    assert verify(signed(claims())).scopes == frozenset()


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


async def test_a_remembered_token_expires_at_its_time() -> None:
    clock = Clock()
    tokens = Tokens(SharedSecret(SECRET), POLICY, clock)
    token = signed(claims(exp=int(clock.now) + 60))
    assert await tokens.verify(token) is await tokens.verify(token)
    clock.now += 61
    with pytest.raises(AppError, match="expired"):
        await tokens.verify(token)


async def test_a_remembered_token_is_verified_anew_after_a_while() -> None:
    clock = Clock()
    tokens = Tokens(SharedSecret(SECRET), POLICY, clock)
    token = signed(claims())
    first = await tokens.verify(token)
    clock.now += subject_of_test.CACHE_S + 1
    again = await tokens.verify(token)
    assert again == first
    assert again is not first


async def test_what_is_remembered_is_bounded_and_holds_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_of_test, "CACHE_TOKENS", 3)
    tokens = Tokens(SharedSecret(SECRET), POLICY)
    made = [signed(claims(sub=f"user-{number}")) for number in range(10)]
    for token in made:
        await tokens.verify(token)
    remembered = vars(tokens)["_verified"]
    assert len(remembered) == 3
    assert not any(part in repr(dict(remembered)) for token in made for part in token.split("."))
