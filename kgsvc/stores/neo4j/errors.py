"""What the driver's errors mean: whether trying again can help, and what the service tells of them."""

from __future__ import annotations

from neo4j.exceptions import (
    AuthError,
    ConstraintError,
    DatabaseError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)

from kgsvc.domain.errors import StoreRefused, StoreUnavailable

# Errors that the values of a statement cause. A shortage of memory of the whole server has another code.
_REFUSALS = frozenset(
    {
        "Neo.ClientError.Statement.TypeError",
        "Neo.ClientError.Statement.ArgumentError",
        "Neo.ClientError.Statement.ArithmeticError",
        "Neo.ClientError.General.TransactionOutOfMemoryError",
    }
)
_TOO_LARGE = "too large to index"  # its code is that of any failure within a statement
_DEADLOCK = "Neo.TransientError.Transaction.DeadlockDetected"


def is_transient(error: BaseException) -> bool:
    """Whether trying again can help: a deadlock, a lost connection, a lost race for a uuid or a key."""
    if isinstance(error, ConstraintError):
        return True
    return isinstance(error, (Neo4jError, DriverError)) and error.is_retryable()


def lost_race(error: BaseException | None) -> bool:
    """Whether another client was faster: the next try sees what that one wrote."""
    return isinstance(error, ConstraintError) or getattr(error, "code", None) == _DEADLOCK


def store_error(error: Exception) -> StoreUnavailable | StoreRefused:
    """The service's error for one of the driver: refused because of its values, or the store unavailable."""
    if not _refuses(error):
        return unavailable(error)
    made = StoreRefused(f"Neo4j refuses this write ({getattr(error, 'code', None)})")
    made.__cause__ = error
    return made


def _refuses(error: Exception) -> bool:
    return isinstance(error, Neo4jError) and (
        error.code in _REFUSALS or (isinstance(error, DatabaseError) and _TOO_LARGE in (error.message or ""))
    )


def unavailable(error: Exception) -> StoreUnavailable:
    """The error as StoreUnavailable with one sentence that quotes no data, `error` chained as its cause."""
    made = StoreUnavailable(_sentence(error))
    made.__cause__ = error
    return made


def _sentence(error: Exception) -> str:
    if isinstance(error, AuthError):
        return "Neo4j refused the user name or the password"
    if isinstance(error, (ServiceUnavailable, SessionExpired)):
        return "Neo4j cannot be reached"
    if isinstance(error, TimeoutError):
        return "Neo4j did not answer in time"
    if isinstance(error, ConstraintError):
        return "Neo4j is too busy: other clients kept writing first"
    return f"Neo4j failed ({getattr(error, 'code', None) or type(error).__name__})"
