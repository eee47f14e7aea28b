"""Ids are version 4 uuids, each from random bytes of its own."""

import uuid

from kgsvc.runtime import RandomIds


def test_ids_are_distinct_version_4_uuids() -> None:
    make = RandomIds()
    made = [make() for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert {uuid.UUID(one).version for one in made} == {4}


def test_no_byte_is_used_twice() -> None:
    counted = iter(range(1_000_000))

    def numbered(size: int) -> bytes:
        return b"".join(next(counted).to_bytes(16, "big") for _ in range(size // 16))

    make = RandomIds(numbered)
    assert [make() for _ in range(600)] == [str(uuid.UUID(int=n, version=4)) for n in range(600)]
