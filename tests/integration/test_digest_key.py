"""With a key that is kept elsewhere, nothing left of an erased text tells whether a guess is right."""

import os
from pathlib import Path

import pytest

from kgsvc.domain.facts.plan import text_digest
from kgsvc.domain.model.graph import FactKind
from kgsvc.domain.model.keys import fingerprint, minted, name_key, slot_of
from tests.support.canaries import erased, found
from tests.support.client import Client, episode
from tests.support.service import Died, Service
from tests.support.store_spec import StoreSpec

JAN = 1_704_067_200_000
TEXT = "Zerlina works at Acme."


def guesses(group: str) -> dict[str, str]:
    """What somebody who guesses the text can work out, and look for."""
    assert fingerprint() == 0, "this process has no key"
    zerlina, acme = (minted("entity", group, name_key(name), 0) for name in ("Zerlina", "Acme"))
    return {
        "entity": zerlina,
        "slot": slot_of(FactKind.STATE, zerlina, "WORKS_AT", acme, {}),
        "functional slot": slot_of(FactKind.FUNCTIONAL, zerlina, "WORKS_AT", acme, {}),
        "text": text_digest(TEXT),
    }


async def told_and_erased(service: Service, spec: StoreSpec, group: str) -> set[str]:
    """Which guesses the store holds of a fact that was deleted and an episode that was erased."""
    async with service, Client(service.address) as client:
        await client.ingest(
            group, [episode(TEXT, JAN, uuid="e"), episode("Bruno lives in Rome.", JAN, uuid="f")]
        )
        (fact,) = [each for each in await client.search(group, "Zerlina", max_facts=10) if each.fact == TEXT]
        await client.ask("DeleteEntityEdge", group_id=group, uuid=fact.uuid)
        gone = await client.ask("DeleteEpisode", group_id=group, uuid="e", cascade=True)
        await erased(client, gone.erasure_id)
        held = await found(spec, guesses(group).values())
        again = await client.add_episodes(group, [episode("Bruno lives in Rome.", JAN, uuid="f")])
        assert [each.duplicate for each in again.items] == [True]
    return {name for name, guess in guesses(group).items() if guess in held}


async def test_without_a_key_a_guess_can_be_checked(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    assert await told_and_erased(Service(store_spec.settings, tmp_path), store_spec, group) >= {"text"}


async def test_with_a_key_it_cannot(store_spec: StoreSpec, group: str, tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_bytes(os.urandom(32))
    other.write_bytes(os.urandom(32))
    keyed = store_spec.settings | {"store.digest_key": str(key)}
    assert await told_and_erased(Service(keyed, tmp_path), store_spec, group) == set()
    assert await told_and_erased(Service(keyed, tmp_path, "again"), store_spec, f"{group}-2") == set()
    for wrong in (store_spec.settings, store_spec.settings | {"store.digest_key": str(other)}):
        with pytest.raises(Died, match=r"store\.digest_key: the store was begun with another key"):
            await Service(wrong, tmp_path, "wrong").start()


@pytest.mark.parametrize(
    ("content", "why"), [(b"short", "has 5 bytes, at least 32"), (b"x" * 32, "was begun without a key")]
)
async def test_a_key_that_does_not_do_is_refused(
    store_spec: StoreSpec, tmp_path: Path, content: bytes, why: str
) -> None:
    (tmp_path / "key").write_bytes(content)
    async with Service(store_spec.settings, tmp_path) as service, Client(service.address) as client:
        await client.ingest("g", [episode(TEXT, JAN)])
    with pytest.raises(Died, match=why):
        await Service(
            store_spec.settings | {"store.digest_key": str(tmp_path / "key")}, tmp_path, "wrong"
        ).start()
