"""What the driver's errors mean to the service."""

from __future__ import annotations

from neo4j.exceptions import (
    AuthError,
    ConstraintError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)

from kgsvc.domain.errors import StoreUnavailable


def passes(error: BaseException) -> bool:
    """Whether trying again can help: deadlocks, lost connections, a lost race for a uuid or a key."""
    if isinstance(error, ConstraintError):
        return True
    return isinstance(error, (Neo4jError, DriverError)) and error.is_retryable()


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
