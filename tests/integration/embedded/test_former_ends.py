"""A store that an earlier version wrote: ends that were facts of their own."""

from pathlib import Path

import apsw
import pytest

from kgsvc.domain.model.delta import Guard
from kgsvc.stores.embedded import EmbeddedStore, admin
from kgsvc.stores.embedded.admin import fold_former_ends
from kgsvc.stores.embedded.schema import ENDS_SINCE
from tests.support.former_ends import former_graph, told


async def test_they_become_part_of_the_relations_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    await store.apply(former_graph("g"), Guard(0, 0))
    await store.close()
    db = apsw.Connection(str(tmp_path / "kgsvc.db"))
    triggers = ("quotas_settled", "quotas_ended", "quotas_released", "passage_vectors_gone")
    for trigger in triggers:  # of later migrations
        db.execute(f"DROP TRIGGER {trigger}")
    tables = (
        "erasures",
        "documents",
        "document_chunks",
        "quotas",
        "quota_items",
        "passage_vectors",
        "index_proofs",
    )
    for table in tables:
        db.execute(f"DROP TABLE {table}")
    db.execute("ALTER TABLE items DROP COLUMN request_id")
    for index in ("facts_ended", "facts_expired", "facts_of_source", "facts_of_target"):
        db.execute(f"DROP INDEX {index}")
    for index in ("facts_source", "facts_target", "facts_open", "facts_open_target", "facts_open_pair"):
        db.execute(f"CREATE INDEX {index} ON facts (id)")  # of earlier migrations
    db.pragma("user_version", ENDS_SINCE - 1)
    db.close()

    store = await EmbeddedStore.open(tmp_path)

    def dying(db: apsw.Connection) -> None:
        fold_former_ends(db)
        raise RuntimeError("the process dies")

    monkeypatch.setattr(admin, "fold_former_ends", dying)
    with pytest.raises(RuntimeError):
        await store.migrate()
    assert "NO_LONGER_WORKS_AT" in {fact.name for fact in (await store.dump("g")).facts}, (
        "nothing was written"
    )
    monkeypatch.setattr(admin, "fold_former_ends", fold_former_ends)
    await store.migrate()
    dump = await store.dump("g")
    assert told(dump.facts) == told()
    assert dump.head.rev == 2, "indexes hear of it"
    await store.migrate()
    assert (await store.dump("g")).head.rev == 2
    await store.close()
