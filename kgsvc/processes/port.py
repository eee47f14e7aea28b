"""One port for several processes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from kgsvc.config import ConfigError, split_address


@contextmanager
def reserved(listen: str) -> Iterator[str]:
    """`listen`, HOST:PORT, with a port (0: a free one) that is this service's as long as the block runs.

    The socket that holds it never listens: the system deals connections out among the processes that do.
    Raises ConfigError where the port is taken, also by another service that would share it.
    """
    host, port = split_address(listen)
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, proto) as alone:
            # Connections that are on their way out do not count, listeners do.
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(address)
        holder = socket.socket(family, kind, proto)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(address)
    except OSError as error:
        raise ConfigError(f"server.listen: cannot listen on {listen}, is the port in use?") from error
    with holder:
        yield f"{listen.rpartition(':')[0]}:{holder.getsockname()[1]}"
