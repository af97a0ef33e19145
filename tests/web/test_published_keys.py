"""Keys that an issuer publishes: asked of a real server, followed as they rotate, and never used another way."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from app.core.errors import AppError
from app.web import jwks
from app.web.jwks import KEEP_S, MAX_KEYS, REFETCH_S, STALE_S, PublishedKeys
from app.web.tokens import Policy, Tokens
from tests.web.issuer import AUDIENCE, ISSUER, Publisher, Signer, claims, ec_signer, publishing, raw, rsa_signer, signed

GOOD = {"iss": ISSUER, "aud": AUDIENCE}
POLICY = Policy(issuer=ISSUER, audience=AUDIENCE)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class World:
    """An issuer, its server, and a service that trusts it."""

    def __init__(self, publisher: Publisher, client: httpx.AsyncClient) -> None:
        self.publisher = publisher
        self.clock = Clock()
        self.keys = PublishedKeys(publisher.url, client, self.clock)

    async def accepts(self, token: str) -> bool:
        """Verify past the cache of verified tokens."""
        try:
            await Tokens(self.keys, POLICY).verify(token)
        except AppError as error:
            if error.code != "unauthorized":
                raise
            return False
        return True

    async def takes(self, signer: Signer) -> bool:
        return await self.accepts(signer.sign(claims(**GOOD)))


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with publishing() as publisher:
        yield publisher


@pytest.fixture
async def world(publisher: Publisher) -> AsyncIterator[World]:
    async with httpx.AsyncClient(trust_env=False, timeout=jwks.FETCH_TIMEOUT_S) as client:
        yield World(publisher, client)


@pytest.mark.parametrize("signer", [rsa_signer("k1"), ec_signer("k1")], ids=["RS256", "ES256"])
async def test_a_token_by_a_published_key_is_taken(world: World, signer: Signer) -> None:
    world.publisher.publish(signer.published())
    assert await world.takes(signer)
    assert await world.takes(signer)
    assert world.publisher.asked == 1


async def test_a_new_key_is_found_when_a_token_names_it(world: World) -> None:
    old, new = rsa_signer("k1"), rsa_signer("k2", 2)
    world.publisher.publish(old.published())
    assert await world.takes(old)
    world.publisher.publish(old.published(), new.published())
    world.clock.now += REFETCH_S
    assert await world.takes(new)
    assert await world.takes(old)
    assert world.publisher.asked == 2


async def test_a_withdrawn_key_ends(world: World) -> None:
    old, new = rsa_signer("k1"), rsa_signer("k2", 2)
    world.publisher.publish(old.published())
    assert await world.takes(old)
    world.publisher.publish(new.published())
    world.clock.now += KEEP_S
    assert not await world.takes(old)
    assert await world.takes(new)


async def test_made_up_key_ids_cause_few_fetches(world: World) -> None:
    signer = rsa_signer("k1")
    world.publisher.publish(signer.published())
    assert await world.takes(signer)
    for number in range(20):
        assert not await world.takes(rsa_signer(f"made-up-{number}"))
    assert world.publisher.asked == 1
    assert await world.takes(signer)


async def test_many_at_once_cause_one_fetch(world: World) -> None:
    signer = rsa_signer("k1")
    world.publisher.publish(signer.published())
    assert all(await asyncio.gather(*(world.takes(signer) for _ in range(20))))
    assert world.publisher.asked == 1


async def test_a_public_key_is_not_taken_for_a_secret(world: World) -> None:
    """Algorithm confusion: HS256, with what everybody knows for a secret."""
    signer = rsa_signer("k1")
    world.publisher.publish(signer.published())
    assert await world.takes(signer)
    known = [signer.public_pem(), str(signer.published()["n"])]
    for secret in known:
        payload = json.dumps(claims(**GOOD)).encode()
        assert not await world.accepts(raw({"alg": "HS256", "kid": "k1"}, payload, secret.encode()))


async def test_a_key_is_used_for_its_own_algorithm_only(world: World) -> None:
    rsa, ec = rsa_signer("k1"), ec_signer("k1")
    world.publisher.publish(rsa.published())
    assert await world.takes(rsa)
    assert not await world.takes(ec)
    assert not await world.accepts(rsa.sign(claims(**GOOD), alg="ES256"))
    assert not await world.accepts(rsa.sign(claims(**GOOD), alg="none"))


async def test_an_algorithm_that_no_key_is_for_asks_nobody(world: World) -> None:
    assert not await world.accepts(signed(claims(**GOOD)))
    assert world.publisher.asked == 0


async def test_a_token_by_another_key_of_the_same_id_is_refused(world: World) -> None:
    world.publisher.publish(rsa_signer("k1").published())
    assert not await world.takes(rsa_signer("k1", 2))


@pytest.mark.parametrize(
    "change",
    [
        {"use": "enc"},
        {"alg": "RS512"},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "EC"},
        {"n": "!!"},
        {"n": None},
        {"n": 5},
        {"e": ""},
        {"kid": 5},
    ],
)
async def test_an_entry_that_is_not_a_signing_key_is_passed_over(world: World, change: dict[str, object]) -> None:
    other = ec_signer("k2")
    world.publisher.publish(rsa_signer("k1").published(**change), other.published())
    assert not await world.takes(rsa_signer("k1"))
    assert await world.takes(other)


async def test_a_short_rsa_key_is_passed_over(world: World) -> None:
    short = rsa_signer("k1", bits=1_024)
    world.publisher.publish(short.published())
    assert not await world.takes(short)


async def test_a_token_without_a_key_id_means_the_only_key(world: World) -> None:
    one, two = rsa_signer(None), rsa_signer("k2", 2)
    world.publisher.publish(one.published())
    assert await world.takes(one)
    world.publisher.publish(one.published(kid="k1"), two.published())
    world.clock.now += KEEP_S
    assert not await world.takes(one)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"keys": 5}',
        b'{"keys": [' + b"1," * MAX_KEYS + b"1]}",
        b"[" * 100_000,
        b'{"keys": []' + b" " * jwks.MAX_BYTES + b"}",
    ],
    ids=range(8),
)
async def test_without_any_keys_the_service_says_so(world: World, body: bytes) -> None:
    world.publisher.body = body
    with pytest.raises(AppError) as caught:
        await world.takes(rsa_signer("k1"))
    assert caught.value.code == "store_unavailable"


async def test_an_issuer_that_fails_is_done_without_for_a_while(world: World) -> None:
    signer = rsa_signer("k1")
    world.publisher.publish(signer.published())
    assert await world.takes(signer)
    world.publisher.status = 500
    world.clock.now += STALE_S - 1
    assert await world.takes(signer)
    world.clock.now += 1
    with pytest.raises(AppError) as caught:
        await world.takes(signer)
    assert caught.value.code == "store_unavailable"
    world.publisher.status = 200
    world.clock.now += REFETCH_S
    assert await world.takes(signer)


async def test_an_issuer_that_does_not_answer_is_not_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks, "FETCH_TIMEOUT_S", 0.1)
    world.publisher.gate.clear()
    with pytest.raises(AppError) as caught:
        await world.takes(rsa_signer("k1"))
    assert caught.value.code == "store_unavailable"
    world.publisher.gate.set()
