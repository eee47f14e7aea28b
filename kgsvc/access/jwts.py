"""JWTs of an issuer whose public keys are known from its key set (JWKS), a file or a URL.

Only signatures of public keys count: never `none`, and no shared secret, so that nobody signs with a public
key. Which algorithm a key verifies is said by the key, not by the token.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kgsvc.access.authentication import AccessSettings
from kgsvc.access.scopes import Principal, scopes_of
from kgsvc.domain.errors import KgError, Unauthenticated

log = logging.getLogger(__name__)
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_REFRESH_S = 300.0  # between two looks at a URL
_AGAIN_S = 10.0  # at least, between two looks because of a key that is not known, or of a failure
_FETCH_S = 5.0  # for one answer of the URL
_MOST_BYTES = 256 * 1024
_MOST_KEYS = 64


class KeySetError(KgError):
    """The key set cannot be used."""


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A public key of the issuer. Keys with the same mark prove the same tokens."""

    public: jwt.PyJWK
    mark: str

    @classmethod
    def of(cls, public: jwt.PyJWK) -> IssuerKey:
        """The key with its mark: another id, algorithm or number is another key."""
        half = public.key.public_key() if hasattr(public.key, "public_key") else public.key
        number = half.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        named = json.dumps([public.key_id, public.algorithm_name]).encode()
        return cls(public, hashlib.sha256(named + number).hexdigest())


class KeySet:
    """The public keys of the issuer by their ids. It follows their rotation, and holds a bounded number."""

    def __init__(self, source: str, read: Callable[[str], bytes] | None = None) -> None:
        self._source = source
        self._is_url = source.startswith("https:")
        self._read = read or (_fetched if self._is_url else _read_file)
        self._keys: Mapping[str | None, IssuerKey] = {}
        self.marks: frozenset[str] = frozenset()  # of all keys
        self._raw: bytes | None = None
        self._looked_s: float | None = None
        self._trouble = ""  # that was logged last
        self._looking = asyncio.Lock()
        self._reading: asyncio.Future[bytes] | None = None

    async def find(self, key_id: str | None) -> IssuerKey:
        """The key with an id; a token without one means the only key. An unknown id may be that of a new key:
        the set is read again, though not more often than every ten seconds. Raises Unauthenticated."""
        if key_id not in self._keys:
            await self._look(_AGAIN_S)
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if key_id is None or key_id not in self._keys:
            raise Unauthenticated("the JWT is signed with a key that is not known")
        return self._keys[key_id]

    async def refresh(self) -> None:
        """Read the set again when it is time to. What cannot be read leaves the known keys in force."""
        if not self._is_url:
            await self._look(0.0)
        else:
            await self._look(_REFRESH_S if self._keys else _AGAIN_S)

    async def _look(self, least_s: float) -> None:
        async with self._looking:
            now = time.monotonic()
            if self._looked_s is not None and now - self._looked_s < least_s:
                return
            try:
                async with asyncio.timeout(2 * _FETCH_S):
                    raw = await self._answer()
                if raw != self._raw:
                    self._raw, self._keys = raw, keys_of(raw)
                    self.marks = frozenset(key.mark for key in self._keys.values())
                    log.info("the key set was read", extra={"keys": len(self._keys)})
                self._trouble = ""
            except (OSError, HTTPException, TimeoutError, KeySetError) as error:
                trouble = str(error) if isinstance(error, KeySetError) else type(error).__name__
                if trouble != self._trouble:
                    log.error("the key set cannot be used: %s", trouble)
                self._trouble = trouble
            finally:
                self._looked_s = time.monotonic()  # whoever waited for this look does not begin another

    async def _answer(self) -> bytes:
        """What the source says. One that drips occupies a single thread, however long it takes."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(asyncio.to_thread(self._read, self._source))
            self._reading.add_done_callback(lambda read: read.cancelled() or read.exception())
        return await asyncio.shield(self._reading)


class JwtVerifier:
    """Checks JWTs: signature, issuer, audience, expiry, and which scopes they hold."""

    def __init__(self, settings: AccessSettings, keys: KeySet) -> None:
        self._settings = settings
        self._keys = keys

    async def refresh(self) -> None:
        """See KeySet."""
        await self._keys.refresh()

    @property
    def keys(self) -> frozenset[str]:
        """The marks of the keys that are valid now."""
        return self._keys.marks

    async def verify(self, token: str) -> Principal:
        """Who it speaks of: its subject. Raises Unauthenticated."""
        settings = self._settings
        try:
            key = await self._keys.find(jwt.get_unverified_header(token).get("kid"))
            claims = jwt.decode(
                token,
                key.public,
                algorithms=ALGORITHMS,
                issuer=settings.jwt_issuer,
                audience=settings.jwt_audience,
                leeway=settings.jwt_skew_s,
                options={
                    "require": ["exp", "iss", "aud", "sub"],
                    "enforce_minimum_key_length": True,
                },
            )
            expires_ms = int((float(claims["exp"]) + settings.jwt_skew_s) * 1_000)
            scopes = scopes_of(claims.get(settings.jwt_claim))
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("the JWT has expired") from None
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the JWT is not valid ({type(error).__name__})") from None
        except (ValueError, OverflowError):
            raise Unauthenticated(f"the JWT has no usable claim {settings.jwt_claim}") from None
        return Principal(claims["sub"], scopes, expires_ms=expires_ms, key=key.mark)


def keys_of(raw: bytes) -> dict[str | None, IssuerKey]:
    """The keys of a set that may verify signatures. Raises KeySetError."""
    try:
        found = jwt.PyJWKSet.from_dict(json.loads(raw)).keys
    except (ValueError, AttributeError, RecursionError, jwt.PyJWTError):
        raise KeySetError("it is not a JWKS with keys that can be used") from None
    usable = [
        key for key in found if key.algorithm_name in ALGORITHMS and key.public_key_use in {None, "sig"}
    ]
    if not usable or len(usable) > _MOST_KEYS:
        raise KeySetError(f"it must have 1 to {_MOST_KEYS} public keys for signatures")
    return {key.key_id: IssuerKey.of(key) for key in usable}


def _read_file(source: str) -> bytes:
    with Path(source).open("rb") as file:
        return _bounded(file.read(_MOST_BYTES + 1))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Who names an address means that one."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _fetched(source: str) -> bytes:
    opener = urllib.request.build_opener(_NoRedirect())
    with opener.open(source, timeout=_FETCH_S) as answer:
        return _bounded(answer.read(_MOST_BYTES + 1))


def _bounded(raw: bytes) -> bytes:
    if len(raw) > _MOST_BYTES:
        raise KeySetError(f"it has more than {_MOST_BYTES} bytes")
    return raw
