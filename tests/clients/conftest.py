"""What streams of clients leave unfinished goes with the test."""

from tests.clients.drivers import go_driver
from tests.support.store_spec import nothing_left_behind

__all__ = ["go_driver", "nothing_left_behind"]
