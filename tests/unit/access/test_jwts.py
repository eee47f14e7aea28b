"""JWTs: whom they prove, every trap that is known, and key sets that rotate, fail and lie."""

import asyncio
import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from kgsvc.access import jwts
from kgsvc.access.authentication import AccessSettings
from kgsvc.access.jwts import JwtVerifier, KeySet, KeySetError, keys_of
from kgsvc.access.scopes import Right
from kgsvc.domain.errors import Unauthenticated

ISSUER, AUDIENCE = "https://issuer.test/", "kgsvc"
SETTINGS = AccessSettings(jwt_keys="keys", jwt_issuer=ISSUER, jwt_audience=AUDIENCE, jwt_skew_s=5)
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
WEAK = rsa.generate_private_key(65537, 1024)


def jwk(key: Any, key_id: str | None, **more: Any) -> dict[str, Any]:
    """The public key as a set has it."""
    kind: Any = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    made = next((value for base, value in kind.items() if isinstance(key, base)), OKPAlgorithm)
    named = {} if key_id is None else {"kid": key_id}
    return {**made.to_jwk(key.public_key(), as_dict=True), **named, **more}


def key_set(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


KEYS = key_set(jwk(RSA, "rsa"), jwk(EC, "ec"), jwk(ED, "ed"), jwk(WEAK, "weak"))


def claims(**other: Any) -> dict[str, Any]:
    now = int(time.time())
    made = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 60, "kgsvc": {"acme/": "write"}}
    return {name: value for name, value in {**made, **other}.items() if value is not None}


def signed(key: Any = RSA, algorithm: str = "RS256", key_id: str | None = "rsa", **other: Any) -> str:
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims(**other), key, algorithm, headers=headers)


def verifier(read: Callable[[str], bytes] = lambda _: KEYS) -> JwtVerifier:
    return JwtVerifier(SETTINGS, KeySet("https://issuer.test/keys", read))


async def refused(token: str, verifier: JwtVerifier) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(token)
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "algorithm", "key_id"), [(RSA, "RS256", "rsa"), (EC, "ES256", "ec"), (ED, "EdDSA", "ed")]
)
async def test_a_right_token_proves_its_subject(key: Any, algorithm: str, key_id: str) -> None:
    until = int(time.time()) + 60
    found = await verifier().verify(signed(key, algorithm, key_id, exp=until, aud=["other", AUDIENCE]))
    assert (found.name, found.scopes) == ("ann", {"acme/": Right.WRITE})
    assert (found.expires_ms, found.credential) == ((until + 5) * 1_000, None)


@pytest.mark.parametrize("scopes", ["write:acme/ read:shared", ["write:acme/", "read:shared"]])
async def test_scopes_may_be_a_text_or_a_list(scopes: Any) -> None:
    found = await verifier().verify(signed(kgsvc=scopes))
    assert found.scopes == {"acme/": Right.WRITE, "shared": Right.READ}


@pytest.mark.parametrize(
    "other",
    [
        {"exp": timedelta(seconds=-6)},
        {"exp": None},
        {"exp": "never"},
        {"nbf": timedelta(seconds=600)},
        {"iat": timedelta(seconds=600)},
        {"iss": "https://other.test/"},
        {"iss": ISSUER.rstrip("/")},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"sub": None},
        {"sub": 5},
        {"kgsvc": None},
        {"kgsvc": {"acme/": "owner"}},
        {"kgsvc": 5},
    ],
    ids=str,
)
async def test_a_claim_that_is_not_right_proves_nobody(other: dict[str, Any]) -> None:
    """Spans are from now on."""
    now = time.time()
    payload = claims(
        **{name: now + at.total_seconds() if isinstance(at, timedelta) else at for name, at in other.items()}
    )
    token = jwt.PyJWS().encode(json.dumps(payload).encode(), RSA, "RS256", headers={"kid": "rsa"})
    assert token not in await refused(token, verifier())


async def test_clocks_may_differ_by_the_stated_skew() -> None:
    await verifier().verify(signed(exp=int(time.time()) - 3))


def forged(header: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    """A token made by hand."""
    parts = [json.dumps(part).encode() for part in (header, claims())]
    body = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    return (body + b"." + base64.urlsafe_b64encode(sign(body)).rstrip(b"=")).decode()


PUBLIC = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def by_secret(body: bytes) -> bytes:
    """Signed with the public key as if it were a shared secret."""
    return hmac.digest(PUBLIC, body, hashlib.sha256)


@pytest.mark.parametrize(
    "token",
    [
        forged({"alg": "none", "kid": "rsa"}, lambda _: b""),
        forged({"alg": "None", "kid": "rsa"}, lambda _: b""),
        forged({"alg": "HS256", "kid": "rsa"}, by_secret),
        forged({"alg": "RS256", "kid": "rsa"}, by_secret),
        forged({"alg": "RS256", "kid": "rsa"}, lambda _: b""),
        forged({"kid": "rsa"}, by_secret),
        forged({"alg": "RS256", "kid": "rsa", "crit": ["x"]}, by_secret),
        forged({"alg": "RS256", "kid": ["rsa"]}, by_secret),
        forged({"alg": "RS256", "jwk": jwk(EC, "rsa")}, by_secret),
        signed(EC, "ES256", "rsa"),
        signed(RSA, "RS256", "ec"),
        signed(RSA, "PS256", "rsa"),
        signed(rsa.generate_private_key(65537, 2048)),
        signed(key_id="unknown"),
        signed(key_id=None),
        signed()[:-4] + "AAAA",
        "a.b.c",
        "..",
        "",
        "\x00",
    ],
    ids=lambda token: token[:24] or "empty",
)
async def test_a_forged_token_proves_nobody(token: str) -> None:
    await refused(token, verifier())


@pytest.mark.filterwarnings("ignore:The RSA key")
async def test_a_weak_key_proves_nobody() -> None:
    await refused(signed(WEAK, "RS256", "weak"), verifier())


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": []}',
        b'{"keys": [5]}',
        key_set({"kty": "oct", "k": "c2VjcmV0", "kid": "s", "alg": "HS256"}),
        key_set(jwk(RSA, "rsa", use="enc")),
        key_set(*(jwk(EC, str(number)) for number in range(65))),
        b"[" * 100_000,
    ],
    ids=lambda raw: raw[:20].decode() or "empty",
)
def test_what_no_key_set_is(raw: bytes) -> None:
    with pytest.raises(KeySetError):
        keys_of(raw)


async def test_the_only_key_needs_no_name() -> None:
    assert (await verifier(lambda _: key_set(jwk(RSA, None))).verify(signed(key_id=None))).name == "ann"


async def test_a_new_key_is_fetched_once_and_not_for_every_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, asked = [key_set(jwk(EC, "ec"))], []

    def read(_: str) -> bytes:
        asked.append(1)
        return answers[-1]

    made = verifier(read)
    await refused(signed(), made)
    answers.append(KEYS)
    for _ in range(5):
        await refused(signed(), made)
    assert len(asked) == 1
    monkeypatch.setattr(jwts, "_AGAIN_S", 0.0)
    await made.verify(signed())
    assert len(asked) == 2
    answers.append(key_set(jwk(EC, "ec")))
    monkeypatch.setattr(jwts, "_REFRESH_S", 0.0)
    await made.refresh()
    await refused(signed(), made)


async def test_an_issuer_that_never_ends_holds_up_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwts, "_FETCH_S", 0.05)
    monkeypatch.setattr(jwts, "_AGAIN_S", 0.1)
    ends, asked = threading.Event(), []

    def read(_: str) -> bytes:
        asked.append(1)
        ends.wait(20)
        return KEYS

    made = verifier(read)
    try:
        async with asyncio.timeout(2):
            await asyncio.gather(*(refused(signed(), made) for _ in range(100)))
            await asyncio.sleep(0.1)
            await refused(signed(), made)
        assert len(asked) == 1, "one thread waits for it"
    finally:
        ends.set()
    async with asyncio.timeout(10):
        while "known" in await outcome(made):  # noqa: ASYNC110  another thread reads
            await asyncio.sleep(0.1)


async def outcome(made: JwtVerifier) -> str:
    """Whom a right token proves, or why nobody."""
    try:
        return (await made.verify(signed())).name
    except Unauthenticated as error:
        return str(error)


async def test_what_cannot_be_read_leaves_the_known_keys(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[Any] = [KEYS]

    def read(_: str) -> bytes:
        if isinstance(answers[-1], Exception):
            raise answers[-1]
        return bytes(answers[-1])

    made = verifier(read)
    await made.verify(signed())
    monkeypatch.setattr(jwts, "_REFRESH_S", 0.0)
    for broken in (OSError("secret"), TimeoutError(), b"lies"):
        answers.append(broken)
        await made.refresh()
        await made.refresh()
        await made.verify(signed())
    logged = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [line.partition(": ")[2] for line in logged] == [
        "OSError", "TimeoutError", "it is not a JWKS with keys that can be used",
    ]  # fmt: skip


async def test_a_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(jwk(EC, "ec")))
    made = JwtVerifier(SETTINGS, KeySet(str(path)))
    await refused(signed(), made)
    path.write_bytes(KEYS)
    await made.refresh()
    await made.verify(signed())
    path.write_bytes(b" " * 300_000)
    await made.refresh()
    await made.verify(signed())


async def test_a_token_is_as_good_as_its_key(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(KEYS)
    made = JwtVerifier(SETTINGS, KeySet(str(path)))
    by_rsa, by_ec = await made.verify(signed()), await made.verify(signed(EC, "ES256", "ec"))
    other = rsa.generate_private_key(65537, 2048)
    path.write_bytes(key_set(jwk(EC, "ec"), jwk(other, "rsa")))
    await made.refresh()
    assert (by_rsa.key in made.keys, by_ec.key in made.keys) == (False, True), "its name went to another key"
