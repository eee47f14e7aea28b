"""What the driver's errors mean to the service."""

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

# What lies in the values of one statement. A global shortage of memory has another code: it may pass.
_REFUSALS = frozenset(
    {
        "Neo.ClientError.Statement.TypeError",
        "Neo.ClientError.Statement.ArgumentError",
        "Neo.ClientError.Statement.ArithmeticError",
        "Neo.ClientError.General.TransactionOutOfMemoryError",
    }
)
_TOO_LARGE = "too large to index"  # under a code that is that of any failure within a statement


def passes(error: BaseException) -> bool:
    """Whether trying again can help: deadlocks, lost connections, a lost race for a uuid or a key."""
    if isinstance(error, ConstraintError):
        return True
    return isinstance(error, (Neo4jError, DriverError)) and error.is_retryable()


def meaning(error: Exception) -> StoreUnavailable | StoreRefused:
    """What an error of a statement means: some lie in what it writes."""
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
