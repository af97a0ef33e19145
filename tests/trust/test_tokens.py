"""Tokens over HTTP: each kind that is refused, and how."""

import base64
import json
import time
from collections.abc import Mapping

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jose import jwt

from tests.trust.running import MODULE_TIMEOUT_S, PLAIN, Running

Claims = dict[str, object]

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


def claims(tenant: str, /, **others: object) -> Claims:
    now = int(time.time())
    made = {"sub": "alice", "tenant": tenant, "iat": now, "exp": now + 600, **others}
    return {name: value for name, value in made.items() if value is not None}


def unsigned(tenant: str, algorithm: str) -> str:
    parts = ({"alg": algorithm, "typ": "JWT"}, claims(tenant))
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts), "x"]
    )


def refused_tokens(secret: str, tenant: str) -> Mapping[str, str]:
    """Return a token of each kind that isn't good, by what is wrong with it."""
    now = int(time.time())
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = rsa_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()

    def signed(key: str = secret, algorithm: str = "HS256", **others: object) -> str:
        return jwt.encode(claims(tenant, **others), key, algorithm=algorithm)

    good = signed()
    head, body, signature = good.split(".")
    other_body = base64.urlsafe_b64encode(json.dumps(claims(tenant, sub="bob")).encode()).rstrip(b"=").decode()
    return {
        "of another secret": signed("another secret, as long as it should be"),
        "of another algorithm": signed(algorithm="HS512"),
        "of RSA": signed(pem, "RS256"),
        "of none": unsigned(tenant, "none"),
        "of None": unsigned(tenant, "None"),
        "without a signature": f"{head}.{body}.",
        "with another's body": f"{head}.{other_body}.{signature}",
        "expired": signed(iat=now - 1000, exp=now - 400),
        "of the future": signed(iat=now + 400, exp=now + 800),
        "not valid yet": signed(nbf=now + 400),
        "too long a life": signed(exp=now + 25 * 3600),
        "no exp": signed(exp=None),
        "no iat": signed(iat=None),
        "no sub": signed(sub=None),
        "an empty sub": signed(sub=""),
        "a blank sub": signed(sub="  "),
        "an odd tenant": signed(tenant="../other"),
        "no JWT": "abc",
    }


def test_a_token_that_is_not_good_is_refused(up: Running, tenant: str) -> None:
    with httpx.Client(base_url=up.base_url, verify=PLAIN, trust_env=False) as client:
        for kind, token in refused_tokens(up.secret, tenant).items():
            answer = client.get("/v1/profile", headers={"Authorization": f"Bearer {token}"})
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), kind
            assert "invalid_token" in answer.headers["WWW-Authenticate"], kind
            assert answer.headers["Content-Type"] == "application/problem+json", kind
        good = jwt.encode(claims(tenant), up.secret, algorithm="HS256")
        assert client.get("/v1/profile", headers={"Authorization": f"Bearer {good}"}).status_code == 200
        for headers in ({}, {"Authorization": f"Basic {good}"}, {"Authorization": "Bearer"}, {"Authorization": good}):
            assert client.get("/v1/profile", headers=headers).status_code == 401
        assert client.get(f"/v1/profile?access_token={good}").status_code in {401, 422}


@pytest.mark.parametrize("claim", ["client_id", "azp"])
def test_a_token_of_a_client_alone_names_no_user(up: Running, tenant: str, claim: str) -> None:
    token = jwt.encode(claims(tenant, sub="service", **{claim: "service"}), up.secret, algorithm="HS256")
    answer = httpx.get(
        f"{up.base_url}/v1/profile", headers={"Authorization": f"Bearer {token}"}, verify=PLAIN, trust_env=False
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "no_user")


@pytest.mark.parametrize("scope", ["sessions", "preferences:read", "preferences:write"])
def test_a_token_without_the_scope_is_told_which(up: Running, tenant: str, scope: str) -> None:
    with up.client("alice", tenant, scope=scope) as client:
        put = client.put("/v1/preferences/language", json={"value": 1}, headers={"If-None-Match": "*"})
        assert (put.status_code, put.json()["code"]) == (403, "missing_scope")
        assert put.json()["scope"] == "preferences:explicit"
        forget = client.delete("/v1/users/me")
        assert (forget.status_code, forget.json()["code"], forget.json()["scope"]) == (403, "missing_scope", "forget")
