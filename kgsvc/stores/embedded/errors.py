"""What the engine's errors mean to the service."""

from __future__ import annotations

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
    (apsw.SQLError, "the schema of the embedded store is missing or not this binary's: migrate it"),
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
