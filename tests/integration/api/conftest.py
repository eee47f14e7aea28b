"""A server in this process; see tests/support/served.py."""

from tests.support.served import client, serve, stack

__all__ = ["client", "serve", "stack"]
