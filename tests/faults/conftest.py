"""Fault tests leave nothing for the servers of the next test."""

from tests.support.store_spec import nothing_left_behind

__all__ = ["nothing_left_behind"]
