"""A store that an earlier version wrote: ends that were facts of their own, and former values whose ends
closed the present ones."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import apsw
import pytest

from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.embedded import EmbeddedStore, admin
from kgsvc.stores.embedded.schema import ENDS_SINCE, VALUES_SINCE
from tests.support.former_ends import former_graph, told
from tests.support.former_values import MENDED, former_values, rows

# What later migrations than that of the ends made, and the indexes that they removed.
MADE = {
    "TRIGGER": ("quotas_settled", "quotas_ended", "quotas_released", "passage_vectors_gone"),
    "TABLE": (
        "erasures",
        "documents",
        "document_chunks",
        "quotas",
        "quota_items",
        "passage_vectors",
        "index_proofs",
    ),
    "INDEX": ("facts_ended", "facts_expired", "facts_of_source", "facts_of_target"),
}
REPLACED = ("facts_source", "facts_target", "facts_open", "facts_open_target", "facts_open_pair")


def age(directory: Path, since: int) -> None:
    """Make the schema that of the version before."""
    db = apsw.Connection(str(directory / "kgsvc.db"))
    if since == ENDS_SINCE:
        for kind, names in MADE.items():
            for name in names:
                db.execute(f"DROP {kind} {name}")
        db.execute("ALTER TABLE items DROP COLUMN request_id")
        for index in REPLACED:
            db.execute(f"CREATE INDEX {index} ON facts (id)")
    db.pragma("user_version", since - 1)
    db.close()


@pytest.mark.parametrize(
    ("since", "step", "former", "read", "mended"),
    [
        pytest.param(ENDS_SINCE, "fold_former_ends", former_graph, told, told(), id="ends"),
        pytest.param(VALUES_SINCE, "mend_values", former_values, rows, MENDED, id="values"),
    ],
)
async def test_they_are_mended_at_once_or_not_at_all(
    since: int,
    step: str,
    former: Callable[[str], GraphDelta],
    read: Callable[[Iterable[Fact]], Any],
    mended: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    await store.apply(former("g"), Guard(0, 0))
    await store.close()
    age(tmp_path, since)
    store = await EmbeddedStore.open(tmp_path)
    work = getattr(admin, step)

    def dying(db: apsw.Connection) -> None:
        work(db)
        raise RuntimeError("the process dies")

    monkeypatch.setattr(admin, step, dying)
    with pytest.raises(RuntimeError):
        await store.migrate()
    assert read((await store.dump("g")).facts) == read(former("g").facts), "nothing was written"
    monkeypatch.setattr(admin, step, work)
    await store.migrate()
    dump = await store.dump("g")
    assert read(dump.facts) == mended
    assert dump.head.rev == 2, "indexes hear of it"
    await store.migrate()
    assert (await store.dump("g")).head.rev == 2
    await store.close()
