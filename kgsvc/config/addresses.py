"""Addresses HOST:PORT."""

from __future__ import annotations

import ipaddress
import re


def split_address(text: str) -> tuple[str, int]:
    """Host and port of HOST:PORT or [IPv6]:PORT. Raises ValueError saying what it must be."""
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or (":" in bare and bare is host) or not re.fullmatch(r"\d{1,5}", port) or int(port) > 65_535:
        raise ValueError("HOST:PORT, such as 127.0.0.1:50051")
    return bare, int(port)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address HOST:PORT."""
    host, _ = split_address(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
