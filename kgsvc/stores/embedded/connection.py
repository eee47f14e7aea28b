"""Opening the file, the views that reads begin from, and what the engine's errors mean to the service."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from kgsvc.domain.errors import StoreRefused, StoreUnavailable

_REFUSALS = (apsw.TooBigError, apsw.ConstraintError, apsw.MismatchError)

_SENTENCES: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.BusyError, "the embedded store stayed locked by another process for too long"),
    (apsw.LockedError, "the embedded store is locked"),
    (apsw.FullError, "the disk of the embedded store is full"),
    (apsw.CorruptError, "the file of the embedded store is damaged"),
    (apsw.NotADBError, "the file of the embedded store is not a database"),
    (apsw.ReadOnlyError, "the embedded store cannot be written: its file is read-only"),
    (apsw.CantOpenError, "the file of the embedded store cannot be opened"),
    (apsw.IOError, "the file of the embedded store cannot be read or written"),
    (apsw.NoMemError, "the embedded store ran out of memory"),
    (apsw.InterruptError, "a read of the embedded store was interrupted"),
    (
        apsw.SQLError,
        "the schema of the embedded store is missing or of another version:"
        " `kgsvc serve` makes it, or says what to do",
    ),
)


def meaning(error: apsw.Error) -> StoreUnavailable | StoreRefused:
    """What an error in the midst of a job means: some lie in what it writes."""
    if not isinstance(error, _REFUSALS):
        return unavailable(error)
    made = StoreRefused(f"the embedded store refuses this write ({type(error).__name__})")
    made.__cause__ = error
    return made


def unavailable(error: apsw.Error) -> StoreUnavailable:
    """The engine's error as StoreUnavailable with one sentence, `error` chained as its cause."""
    words = (text for kind, text in _SENTENCES if isinstance(error, kind))
    made = StoreUnavailable(next(words, f"the embedded store failed ({type(error).__name__})"))
    made.__cause__ = error
    return made


VIEWS = """
CREATE TEMP VIEW live_episodes AS
SELECT e.id, e.gid, e.uuid, g.group_id, e.body, e.source, e.reference_ms, e.created_ms, e.name,
       e.source_description, e.role_type, e.role, e.content_hash
FROM episodes e JOIN groups g ON g.gid = e.gid;

CREATE TEMP VIEW live_entities AS
SELECT n.id, n.gid, n.uuid, g.group_id, n.name, n.created_ms, n.summary, n.attributes, n.labels,
       n.source_episode_uuid, n.updated_ms, n.stamps, n.detail
FROM entities n JOIN groups g ON g.gid = n.gid;

CREATE TEMP VIEW live_facts AS
SELECT f.id, f.gid, f.rev, f.uuid, g.group_id, f.name, f.fact, s.uuid AS source_uuid,
       t.uuid AS target_uuid, f.source_name, f.target_name, f.created_ms, f.reference_ms, f.slot, f.fact_key,
       f.valid_ms, f.invalid_ms, f.expired_ms, f.kind, f.polarity, f.qualifiers, f.keywords, f.weight,
       f.episodes, f.evidence, f.expired_by_fact, f.expired_by_episode, f.expired_reason,
       f.invalid_before_ms, f.attributes, f.detail
FROM facts f JOIN groups g ON g.gid = f.gid
JOIN entities s ON s.id = f.source_id JOIN entities t ON t.id = f.target_id;

CREATE TEMP VIEW all_items AS
SELECT i.id, i.gid, g.group_id, i.uuid, i.state, coalesce(r.receipt_id, '') AS receipt_id, i.updated_ms,
       e.name,
       CASE i.step WHEN 'extract' THEN i.extract_attempts WHEN 'embed' THEN i.embed_attempts
                   WHEN 'upsert' THEN i.upsert_attempts ELSE 0 END AS attempts,
       i.step, i.reason, i.content_hash, i.rid, i.next_ms, d.deleted_ms, i.calls, i.prompt_tokens,
       i.completion_tokens, i.warnings
FROM items i LEFT JOIN receipts r ON r.rid = i.rid LEFT JOIN groups g ON g.gid = i.gid
LEFT JOIN dead_groups d ON d.gid = i.gid LEFT JOIN episodes e ON e.id = i.id;

CREATE TEMP VIEW live_items AS SELECT * FROM all_items WHERE group_id IS NOT NULL;

CREATE TEMP VIEW open_groups AS
WITH RECURSIVE step (gid) AS (
    SELECT min(gid) FROM items WHERE next_ms IS NOT NULL
    UNION ALL
    SELECT (SELECT min(gid) FROM items WHERE next_ms IS NOT NULL AND gid > s.gid)
    FROM step s WHERE s.gid IS NOT NULL
)
SELECT g.gid, g.group_id, g.token, g.owner_id, g.renewals, g.served_ms,
       (SELECT min(next_ms) FROM items i WHERE i.gid = s.gid AND i.next_ms IS NOT NULL) AS due_ms
FROM step s JOIN groups g ON g.gid = s.gid
WHERE NOT EXISTS (SELECT 1 FROM paused_groups p WHERE p.group_id = g.group_id);
"""


FILE_NAME = "kgsvc.db"
Identity = tuple[int, int]


def identity(directory: Path) -> Identity | None:
    """Which file stands at the store's path now: device and inode; None for none."""
    try:
        about = (directory / FILE_NAME).stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def same_file(directory: Path, opened: Identity | None) -> None:
    """The engine goes on writing to a file that was removed under it, and all of it is lost at the end.
    Raises StoreUnavailable where the path no longer leads to the file that was opened."""
    if opened is None or identity(directory) != opened:
        raise StoreUnavailable(
            "the file of the embedded store was removed or replaced while it was open: put it back if it was"
            " moved, and start the service again"
        )


_STEP_S = 0.001  # the stock busy timeout sleeps up to 100 ms a step and stalls for seconds


class BusyHandler:
    """Waits in small steps for a lock that another process holds, until `patience_s` have passed."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        """Whether the engine shall try again; `tries` is 0 at the beginning of each wait."""
        now = time.monotonic()
        if tries == 0:
            self._until = now + self.patience_s
        if now >= self._until:
            return False
        time.sleep(_STEP_S)
        return True


def open_writer(directory: Path, busy: BusyHandler) -> apsw.Connection:
    """The connection that writes; creates directory and file. Raises apsw.Error, OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    db = apsw.Connection(str(directory / FILE_NAME), statementcachesize=300)
    try:
        db.set_busy_handler(busy)
        # A commit writes whole pages to the log, and most entries of its indexes land in pages of their own:
        # small ones halve what is written. Effective only before the file has content.
        db.execute("PRAGMA page_size = 4096")
        _enter_wal(db, busy)
        # The cache in KiB: a commit into a large group reads thousands of pages of its indexes.
        db.execute("PRAGMA synchronous = FULL; PRAGMA cache_size = -131072; PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA secure_delete = ON")
        db.execute(VIEWS)
    except BaseException:
        db.close()
        raise
    return db


def open_reader(directory: Path, busy: BusyHandler) -> apsw.Connection:
    """A connection that cannot write. The file must exist. Raises apsw.Error."""
    flags = apsw.SQLITE_OPEN_READONLY
    db = apsw.Connection(str(directory / FILE_NAME), flags=flags, statementcachesize=300)
    try:
        db.set_busy_handler(busy)
        db.execute("PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY")
        db.execute(VIEWS)
    except BaseException:
        db.close()
        raise
    return db


def _enter_wal(db: apsw.Connection, busy: BusyHandler) -> None:
    """Switching to WAL takes an exclusive lock that the engine does not always wait for by itself."""
    until = time.monotonic() + busy.patience_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(_STEP_S)
