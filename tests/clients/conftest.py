"""What streams of clients leave unfinished goes with the test."""

from tests.support.store_spec import nothing_left_behind

__all__ = ["nothing_left_behind"]
