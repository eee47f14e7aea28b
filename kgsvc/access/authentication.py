"""Who calls: from what a caller presents to the principal that it proves to be."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import os
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Protocol

from kgsvc.access.file import AccessFileError, Credential, parts_of_token, read_access_file
from kgsvc.access.scopes import Principal
from kgsvc.domain.errors import Overloaded, Unauthenticated
from kgsvc.domain.limits import FROM_ZERO
from kgsvc.runtime import Clock

log = logging.getLogger(__name__)

Gate = Literal["open", "authenticated"]
_KNOWN_GOOD = 10_000  # credentials that go on working while others fail from the same address
_LONGEST_S = 3_600.0  # between two looks whether a credential has expired
_AT_ONCE = 10  # failures of an address before it must wait
_REGAIN_S = 1.0  # after which it may fail once more
_ADDRESSES = 10_000  # remembered; then the ones that failed longest ago are forgotten


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Who may call. Without a file and without a key set everybody may do everything. Times in seconds."""

    file: Path | None = None  # tokens and certificates with their scopes, written by `kgsvc token`
    jwt_keys: str | None = None  # key set (JWKS) of the issuer: a file, or an https URL
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    jwt_claim: str = "kgsvc"  # holds the scopes
    jwt_skew_s: Annotated[float, FROM_ZERO] = 30.0  # that two clocks may differ
    reload_s: float = 1.0  # between two looks at the file, and at the file of the key set
    health: Gate = "open"  # grpc.health.v1
    reflection: Gate = "authenticated"
    audit: Path | None = None  # JSON lines; - is standard output

    @property
    def on(self) -> bool:
        """Whether callers must prove who they are."""
        return self.file is not None or self.jwt_keys is not None

    def problems(self) -> list[str]:
        """What does not fit together, or cannot be read."""
        wrong = []
        if self.file is not None:
            try:
                read_access_file(self.file)
            except AccessFileError as error:
                wrong.append(str(error))
        if self.jwt_keys is not None:
            wanted = {"jwt_issuer": self.jwt_issuer, "jwt_audience": self.jwt_audience}
            wrong += [f"access.jwt_keys needs access.{name}" for name, value in wanted.items() if not value]
            if not self.jwt_keys.startswith("https:") and not Path(self.jwt_keys).is_file():
                wrong.append(
                    f"access.jwt_keys must be an https URL or a file: there is none at {self.jwt_keys}"
                )
        elif self.jwt_issuer or self.jwt_audience:
            wrong.append("access.jwt_issuer and access.jwt_audience need access.jwt_keys")
        return wrong


@dataclass(frozen=True, slots=True)
class Presented:
    """What a caller shows: the text of its authorization header, the names in its verified certificate, and
    the address it calls from."""

    authorization: str | None
    certificate: Sequence[str]
    address: str


class TokenVerifier(Protocol):
    """Somebody else's tokens, such as JWTs."""

    async def verify(self, token: str) -> Principal:
        """Who it speaks of. Raises Unauthenticated."""

    async def refresh(self) -> None:
        """Look whether the issuer's keys are still the same; called once a second or so. Does not raise."""

    @property
    def keys(self) -> Collection[str]:
        """The issuer's keys, as `Principal.key` names them: a token is worth nothing without its key."""


class Throttle:
    """Slows down whoever presents wrong credentials again and again: counts failures by address, in a bounded
    memory. Times are seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._full_at: OrderedDict[str, float] = OrderedDict()  # when all failures will be forgiven

    def wait_s(self, address: str, now: float) -> float:
        """How long the address must wait before it may try again; 0: not at all."""
        left = self._full_at.get(address, now) - now
        return max(0.0, left - (_AT_ONCE - 1) * _REGAIN_S)

    def failed(self, address: str, now: float) -> None:
        """A wrong credential came from there."""
        full_at = max(now, self._full_at.pop(address, now)) + _REGAIN_S
        # Many that came at once, and were let in before the first had failed, do not add up.
        self._full_at[address] = min(full_at, now + _AT_ONCE * _REGAIN_S)
        while len(self._full_at) > _ADDRESSES:
            self._full_at.popitem(last=False)


class Authenticator:
    """Knows every credential that is valid now. Made on the event loop; `run` keeps it current."""

    def __init__(self, settings: AccessSettings, clock: Clock, foreign: TokenVerifier | None = None) -> None:
        self._path = settings.file
        self._every_s = settings.reload_s
        self._clock = clock
        self._foreign = foreign
        self._by_id: dict[str, Credential] = {}
        self._by_certificate: dict[str, Credential] = {}
        self._seen: object = None
        self._keys: Collection[str] = ()  # of the issuer, when they were announced last
        self._changed = asyncio.Event()
        self._throttle = Throttle()
        self._good: OrderedDict[bytes, None] = OrderedDict()

    async def open(self) -> None:
        """Read the access file for the first time. Raises AccessFileError."""
        if self._path is not None:
            self._seen = await asyncio.to_thread(_signature, self._path)
            self._take(await asyncio.to_thread(read_access_file, self._path))
        if self._foreign is not None:
            await self._foreign.refresh()

    async def run(self) -> None:
        """Take over every change of the access file and of the issuer's keys."""
        while True:
            await asyncio.sleep(self._every_s)
            if self._path is not None:
                await self._reload(self._path)
            if self._foreign is not None:
                await self._refresh(self._foreign)

    async def authenticate(self, presented: Presented) -> Principal:
        """Who it is. Raises Unauthenticated; Overloaded after too many wrong credentials from the address."""
        if presented.authorization is None:
            return self._of_certificate(presented.certificate)
        now, mark = self._clock.monotonic(), hashlib.sha256(presented.authorization.encode()).digest()
        wait_s = self._throttle.wait_s(presented.address, now)
        if wait_s and mark not in self._good:
            raise Overloaded("too many wrong credentials came from this address", math.ceil(wait_s * 1_000))
        try:
            principal = await self._of_header(presented.authorization)
        except Unauthenticated:
            self._good.pop(mark, None)  # it was revoked, or has expired: from now on it waits like any other
            self._throttle.failed(presented.address, now)
            raise
        self._good[mark] = None
        self._good.move_to_end(mark)
        if len(self._good) > _KNOWN_GOOD:
            self._good.popitem(last=False)
        return principal

    async def ended(self, principal: Principal) -> None:
        """Return when its credential has expired, was revoked or grants something else."""
        while not self._lapsed(principal):
            left = _LONGEST_S
            if principal.expires_ms is not None:
                left = min(left, (principal.expires_ms - self._clock.now_ms()) / 1_000)
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

    def _lapsed(self, principal: Principal) -> bool:
        if principal.expires_ms is not None and principal.expires_ms <= self._clock.now_ms():
            return True
        if principal.key is not None and self._foreign is not None:
            return principal.key not in self._foreign.keys
        if principal.credential is None:
            return False
        known = self._by_id.get(principal.credential)
        return known is None or known.principal != principal

    async def _of_header(self, authorization: str) -> Principal:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated("the authorization must be: Bearer TOKEN")
        parts = parts_of_token(token)
        if parts is None and self._foreign is not None:
            return await self._foreign.verify(token)
        number, secret = parts or ("", "")
        known = self._by_id.get(number)
        if known is None or not known.is_token(secret):
            raise Unauthenticated("the token is not valid")
        return self._current(known)

    def _of_certificate(self, names: Sequence[str]) -> Principal:
        known = next((self._by_certificate[name] for name in names if name in self._by_certificate), None)
        if known is None:
            raise Unauthenticated(
                "a credential is required: the metadata authorization: Bearer TOKEN, or a known certificate"
            )
        return self._current(known)

    def _current(self, credential: Credential) -> Principal:
        if self._lapsed(credential.principal):
            raise Unauthenticated("the credential has expired")
        return credential.principal

    async def _refresh(self, foreign: TokenVerifier) -> None:
        """Keys may be others since the last time also because of a token of a key that was not known."""
        await foreign.refresh()
        if foreign.keys != self._keys:
            self._keys = foreign.keys
            self._announce()

    async def _reload(self, path: Path) -> None:
        """A file that cannot be read changes nothing; without a file its credentials are refused."""
        seen = await asyncio.to_thread(_signature, path)
        if seen == self._seen:
            return
        self._seen = seen
        if seen is None:
            log.error("the access file is gone: its tokens and certificates are refused")
            self._take(())
            return
        try:
            self._take(await asyncio.to_thread(read_access_file, path))
        except AccessFileError as error:
            log.error("the change is not taken over: %s", error)
        else:
            log.info("the access file was read again", extra={"credentials": len(self._by_id)})

    def _take(self, credentials: Sequence[Credential]) -> None:
        self._by_id = {each.id: each for each in credentials}
        self._by_certificate = {each.certificate: each for each in credentials if each.certificate}
        self._announce()

    def _announce(self) -> None:
        """Whoever waits for the end of a credential looks again."""
        self._changed.set()
        self._changed = asyncio.Event()


def _signature(path: Path) -> object:
    """What is another after each change of the file; None: it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
