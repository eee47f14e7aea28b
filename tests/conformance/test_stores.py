"""Every check of stores/conformance on every store, each a test of its own (design §5)."""

import uuid

import pytest

from kgsvc.stores.conformance import Check, checks
from kgsvc.stores.protocol import Store
from tests.support.stores import EVERY, checks_of

CHECKS = checks()
ON_STORES = [
    pytest.param(store, check, id=f"{store}-{check.name}") for store in EVERY for check in checks_of(store)
]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("any_store", "check"), ON_STORES, indirect=["any_store"])
async def test_store(check: Check, any_store: Store) -> None:
    await check.run(any_store, f"scratch-{uuid.uuid4()}")


def test_the_suite_is_whole() -> None:
    """Names are unique and every check says what it promises."""
    assert len({check.name for check in CHECKS}) == len(CHECKS) > 100
    assert all(check.promise.endswith((".", "?")) for check in CHECKS)
