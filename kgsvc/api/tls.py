"""TLS and mutual TLS from PEM files that may be replaced while the server runs."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass
from pathlib import Path

import grpc

log = logging.getLogger(__name__)
_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where the certificate (with its chain) and the key are, and the authority of the clients' certificates:
    with one, nobody connects without a certificate of it."""

    certificate: Path
    key: Path
    client_authority: Path | None = None

    @property
    def _paths(self) -> list[Path]:
        return [path for path in (self.certificate, self.key, self.client_authority) if path is not None]

    def signature(self) -> object:
        """What is another after a change. Raises OSError."""
        return [(found.st_mtime_ns, found.st_size, found.st_ino) for found in map(os.stat, self._paths)]

    def configuration(self) -> grpc.ServerCertificateConfiguration:
        """What the files hold. Raises OSError."""
        pair = (self.key.read_bytes(), self.certificate.read_bytes())
        authority = None if self.client_authority is None else self.client_authority.read_bytes()
        return grpc.ssl_server_certificate_configuration([pair], authority)


class Certificates:
    """What a server shows to new connections. `run` follows the files. A pair that does not fit together, as
    between the replacement of its two files, leaves the former one in force. Raises OSError when made."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._seen = files.signature()
        self._latest = files.configuration()
        # gRPC asks for each connection, on a thread of its own: the answer must be at hand.
        self.credentials = grpc.dynamic_ssl_server_credentials(
            self._latest,
            lambda: self._latest,
            require_client_authentication=files.client_authority is not None,
        )

    async def run(self) -> None:
        """Read the files again after each change."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await asyncio.to_thread(self._look)
            except OSError as error:
                log.error("a file of TLS cannot be read: %s", error.strerror)

    def _look(self) -> None:
        now = self._files.signature()
        if now != self._seen:
            self._latest, self._seen = self._files.configuration(), now
            log.info("the certificate was read again")
