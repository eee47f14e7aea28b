"""How a server knows who calls: its certificates, the tokens that it takes, the audit of what was done."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import grpc

from kgsvc.access.audit import Audit
from kgsvc.access.authentication import Authenticator, TokenVerifier
from kgsvc.access.quotas import Rates
from kgsvc.api.access import Access
from kgsvc.api.tls import Certificates, TlsFiles
from kgsvc.background import background
from kgsvc.config import Settings
from kgsvc.runtime import Clock


async def credentials_of(settings: Settings, stack: AsyncExitStack) -> grpc.ServerCredentials | None:
    """By which TLS is spoken, kept current; None: without TLS. Raises OSError."""
    cert, key = settings.server.tls_cert, settings.server.tls_key
    if cert is None or key is None:
        return None
    files = TlsFiles(cert, key, settings.server.tls_client_ca)
    certificates = await asyncio.to_thread(Certificates, files)
    background(stack, certificates.run(), "certificates")
    return certificates.credentials


def _jwts(settings: Settings) -> TokenVerifier | None:
    if settings.access.jwt_keys is None:
        return None
    from kgsvc.access.jwts import JwtVerifier, KeySet  # loads in 0.1 s what only this needs

    return JwtVerifier(settings.access, KeySet(settings.access.jwt_keys))


async def access_of(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Access:
    """What says who may do what. Raises AccessFileError, AuditError."""
    audit = await open_audit(settings, stack)
    if not settings.access.on:
        return Access(settings.access, audit=audit)
    authenticator = Authenticator(settings.access, clock, _jwts(settings))
    await authenticator.open()
    background(stack, authenticator.run(), "credentials")
    return Access(settings.access, authenticator, audit, Rates(settings.quotas.token_calls_a_second))


async def open_audit(settings: Settings, stack: AsyncExitStack) -> Audit | None:
    """Where is noted what was done, if anywhere. Raises AuditError."""
    if settings.access.audit is None:
        return None
    audit = await asyncio.to_thread(Audit, settings.access.audit)
    stack.push_async_callback(asyncio.to_thread, audit.close)
    return audit
