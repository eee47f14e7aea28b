"""Opening, locks of others, schemas of others, broken files."""

import shutil
from pathlib import Path

import apsw
import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.names.similarity import name_tokens
from kgsvc.domain.resolution.decisions import CandidateQuery, VectorsAfter
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.schema import ID_BITS, MIGRATIONS, NAME_TOKENS_SINCE
from tests.support.samples import accepted, episode


async def test_a_lock_held_for_too_long_is_unavailable(tmp_path: Path, beside: apsw.Connection) -> None:
    hurried = await EmbeddedStore.open(tmp_path, patience_s=0.02)
    beside.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked by another process") as caught:
        await accepted(hurried, episode("g", "e1"))
    assert isinstance(caught.value.__cause__, apsw.BusyError)
    assert await hurried.episode("e1", None) == [], "reads do not wait for the lock"
    beside.execute("COMMIT")
    await accepted(hurried, episode("g", "e1"))
    await hurried.close()


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path, beside: apsw.Connection) -> None:
    beside.pragma("user_version", 99)
    older = await EmbeddedStore.open(tmp_path)
    with pytest.raises(StoreUnavailable, match="schema 99"):
        await older.migrate()
    await older.close()
    assert beside.pragma("user_version") == 99


async def test_names_of_an_older_store_are_found_by_their_tokens(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "kgsvc.db"))
    for migration in MIGRATIONS[: NAME_TOKENS_SINCE - 1]:
        db.execute(migration)
    db.execute(
        """
        INSERT INTO groups (group_id, gid) VALUES ('g', 1);
        INSERT INTO entities VALUES (7, 1, 'n1', 'Ada Lovelace', 0, '', '{}', '[]', '', 0, '{}', '{}');
        INSERT INTO names VALUES (1, 'ada lovelace', 7), (1, 'countess', 7);
        """
    )
    db.pragma("user_version", NAME_TOKENS_SINCE - 1)
    db.close()
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    query = CandidateQuery(tokens=name_tokens("Lovelace") | name_tokens("Countess"))
    assert [*(await store.candidates("g", query)).by_token.values()] == [("n1",), ("n1",)]
    await store.close()


async def test_an_unmigrated_store_says_so(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    with pytest.raises(StoreUnavailable, match="`kgsvc serve` of this version brings it up to date"):
        await store.heads(["g"])
    with pytest.raises(StoreUnavailable, match="`kgsvc serve` of this version brings it up to date"):
        await accepted(store, episode("g", "e1"))
    await store.close()


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_store_whose_file_was_removed_takes_nothing_more(
    tmp_path: Path, store: EmbeddedStore, replaced: bool
) -> None:
    await accepted(store, episode("g", "e1"))
    shutil.rmtree(tmp_path)
    if replaced:
        other = await EmbeddedStore.open(tmp_path)
        await other.migrate()
        await other.close()
    with pytest.raises(StoreUnavailable, match="was removed or replaced while it was open"):
        await accepted(store, episode("g", "e2"))
    with pytest.raises(StoreUnavailable, match="was removed or replaced while it was open"):
        await store.info()


async def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "kgsvc.db").write_bytes(b"not a database" * 1_000)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await EmbeddedStore.open(tmp_path)


async def test_a_damaged_file_is_unavailable(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    await accepted(store, *[episode("g", f"e{n}", body="x" * 3_000) for n in range(300)])
    await store.close()
    file = tmp_path / "kgsvc.db"
    content = bytearray(file.read_bytes())
    intact = len(content) // 2  # the description of the tables is there
    content[intact:] = b"\x5a" * (len(content) - intact)
    file.write_bytes(content)
    store = await EmbeddedStore.open(tmp_path)
    with pytest.raises(StoreUnavailable, match="damaged"):
        await store.recent_episodes("g", 100)
    await store.close()


async def test_a_directory_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="directory"):
        await EmbeddedStore.open(tmp_path / "file" / "store")


async def test_a_closed_store_is_unavailable(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.heads(["g"])
    with pytest.raises(StoreUnavailable, match="closed"):
        await accepted(store, episode("g", "e1"))
    await store.close()


async def test_versions_of_keys_are_recorded(beside: apsw.Connection) -> None:
    rows = beside.execute("SELECT name, value FROM versions ORDER BY name").fetchall()
    assert rows == [("normaliser", 1), ("tokeniser", 1)]


async def test_the_file_is_set_up_for_durability(beside: apsw.Connection) -> None:
    assert [beside.pragma(name) for name in ("journal_mode", "synchronous", "page_size")] == ["wal", 2, 4096]


async def test_vectors_of_names_of_an_older_store_come_first(tmp_path: Path) -> None:
    """They are of revision 0; those of other groups are not theirs."""
    db = apsw.Connection(str(tmp_path / "kgsvc.db"))
    for migration in MIGRATIONS[: NAME_TOKENS_SINCE + 3]:
        db.execute(migration)
    for gid in (1, 2):
        row_id = (gid << ID_BITS) + 7
        db.execute("INSERT INTO groups (group_id, gid, rev) VALUES (?, ?, 5)", (f"g{gid}", gid))
        db.execute(
            "INSERT INTO entities VALUES (?, ?, ?, 'Ada', 0, '', '{}', '[]', '', 0, '{}', '{}')",
            (row_id, gid, f"n{gid}"),
        )
        db.execute("INSERT INTO entity_vectors VALUES (?, 's', ?)", (row_id, b"old"))
    db.pragma("user_version", NAME_TOKENS_SINCE + 3)
    db.close()
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    page = (await store.candidates("g1", CandidateQuery(vectors=VectorsAfter("s")))).vectors
    assert page is not None
    assert (page.place, page.rows) == ((0, "n1"), (("n1", b"old"),))
    await store.close()


async def test_texts_of_an_older_store_are_followed(tmp_path: Path) -> None:
    """Entities and the episodes that are in the graph, over the revisions that the group has had."""
    before = next(n for n, migration in enumerate(MIGRATIONS) if "found_episodes" in migration)
    db = apsw.Connection(str(tmp_path / "kgsvc.db"))
    for migration in MIGRATIONS[:before]:
        db.execute(migration)
    for gid, rev in ((1, 4), (2, 0)):
        db.execute("INSERT INTO groups (group_id, gid, rev) VALUES (?, ?, ?)", (f"g{gid}", gid, rev))
        for n, state in enumerate(("completed", "upserted", "parked", "accepted")):
            row_id = (gid << ID_BITS) + n
            entity = (row_id, gid, f"n{n}", f"Name {n}")
            db.execute(
                "INSERT INTO entities VALUES (?, ?, ?, ?, 0, '', '{}', '[]', '', 0, '{}', '{}')", entity
            )
            db.execute(
                "INSERT INTO episodes VALUES (?, ?, ?, 'text', 0, 0, NULL, NULL, NULL, NULL, '', 'body')",
                (row_id, gid, f"e{n}"),
            )
            db.execute(
                """
                INSERT INTO items (id, gid, uuid, content_hash, rid, state, reference_ms, accepted_ms,
                                   updated_ms, bytes) VALUES (?, ?, ?, '', 0, ?, 0, 0, 0, 4)
                """,
                (row_id, gid, f"e{n}", state),
            )
    db.pragma("user_version", before)
    db.close()
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    for group in ("g1", "g2"):
        page = await store.text_changes(group, 0, 99)
        assert sorted(one.entity.uuid for one in page.entities) == ["n0", "n1", "n2", "n3"]
        assert sorted(one.episode.uuid for one in page.episodes) == ["e0", "e1"]
        assert 0 < page.upto_rev == page.head.rev
    page = await store.text_changes("g1", 0, 1)
    assert len(page.entities) + len(page.episodes) == 1, "pages are pages"
    await store.close()
