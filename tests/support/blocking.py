"""Blocking calls on the event loop fail tests (design: no blocking call on the event loop)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """A blocking call below a frame of kgsvc, while a loop runs in its thread, raises BlockingError."""
    with blockbuster_ctx("kgsvc"):
        yield
