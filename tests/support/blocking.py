"""Blocking calls on the event loop fail tests (design: no blocking call on the event loop)."""

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx

_IMPORT = ("<frozen importlib._bootstrap>", "_find_and_load")


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """A blocking call below a frame of kgsvc, while a loop runs in its thread, raises BlockingError.

    Importing may block: libraries load some of their modules on first use, once a process.
    """
    with blockbuster_ctx("kgsvc") as detector:
        for function in detector.functions.values():
            function.can_block_in(*_IMPORT)
        yield
