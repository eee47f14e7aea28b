"""The error tree of the service.

KgError
├── OperationError                what an operation decides; answered in the envelope
│   ├── InvalidArgument           INVALID_ARGUMENT, names every offending field
│   ├── LimitExceeded             LIMIT_EXCEEDED
│   ├── NotFound                  NOT_FOUND
│   └── Conflict                  CONFLICT
├── ServiceError                  what happens around an operation; always a gRPC status
│   ├── StoreUnavailable          the store cannot be reached, or did not answer in time
│   │   └── WriteNotSeen          no copy of the store has what the caller's token names yet
│   ├── BadToken                  the caller's consistency token is none
│   ├── EmbedderUnavailable       what is written cannot be embedded at the moment
│   ├── AnswererUnavailable       no model answers a question at the moment
│   ├── ReadOnly                  READ_ONLY: an operator has switched writes off
│   ├── Overloaded                a bounded queue is full; try again after `retry_after_ms`
│   │   └── QuotaExceeded         QUOTA_EXCEEDED: a token or a group has used up what it may
│   └── AccessDenied              the caller may not
│       ├── Unauthenticated       UNAUTHENTICATED: no credential, or one that is not valid (any more)
│       └── PermissionDenied      PERMISSION_DENIED: the credential does not reach so far
├── StepError                     a pipeline step failed for one item; retried, then parked
│   ├── ModelUnavailable          rate limit, timeout, connection: nothing wrong with the item
│   │   └── ModelOff              an operator has switched models off: the item waits, without an attempt
│   ├── ModelOutputInvalid        the model's answer fits no schema, limit or reference
│   └── StoreRefused              the engine refuses this write, and would again
├── LeaseLost                     another process owns the group now (fencing)
└── RevisionChanged               the group changed between reading and writing: read and plan again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgsvc.domain.model.graph import FREE, Usage


@dataclass(frozen=True, slots=True)
class Violation:
    """One offending field: its path in the request, what is wrong, in words fit for the caller."""

    field: str
    description: str
    code: str | None = None  # the error code of this one alone, when it is not that of the whole error


class KgError(Exception):
    """Root of every error that kgsvc raises on purpose."""


class OperationError(KgError):
    """An operation's own negative answer."""

    error_code = "ERROR"

    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.violations = tuple(violations)


class InvalidArgument(OperationError):
    """The input breaks the schema."""

    error_code = "INVALID_ARGUMENT"

    @classmethod
    def of(cls, violations: Sequence[Violation]) -> InvalidArgument:
        """An error naming all `violations` at once."""
        return cls("; ".join(f"{v.field}: {v.description}" for v in violations), violations)


class LimitExceeded(OperationError):
    """A limit is exceeded; nothing was stored, nothing truncated."""

    error_code = "LIMIT_EXCEEDED"


class NotFound(OperationError):
    """The named thing is not in any group the caller may see."""

    error_code = "NOT_FOUND"


class Conflict(OperationError):
    """It does not fit what is stored (the meaning of CONFLICT in kgsvc.api.errors has examples)."""

    error_code = "CONFLICT"


class ServiceError(KgError):
    """The operation could not be carried out; it may be tried again."""


class StoreUnavailable(ServiceError):
    """The store cannot be reached, or did not answer before the deadline."""


class WriteNotSeen(StoreUnavailable):
    """No copy of the store came, in time, to what the caller's consistency token names."""


class BadToken(ServiceError):
    """What the caller gave is no consistency token. The text says why and does not quote it."""


class EmbedderUnavailable(ServiceError):
    """A text that a caller writes cannot be embedded; nothing was written."""


class AnswererUnavailable(ServiceError):
    """The model that answers questions gave no answer that can be used. The text quotes none of it."""

    def __init__(self, message: str, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class ReadOnly(ServiceError):
    """An operator has switched the service to read-only: it takes no writes until that is switched off."""

    def __init__(self) -> None:
        super().__init__("the service is in the mode read-only: it takes no writes until an operator ends it")


class Overloaded(ServiceError):
    """A bounded queue is full."""

    def __init__(self, message: str, retry_after_ms: int) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class QuotaExceeded(Overloaded):
    """A token or a group has used up what it may. `limit` names the setting that says how much that is."""

    def __init__(self, limit: str, retry_after_ms: int) -> None:
        super().__init__(f"the quota is used up: {limit}", retry_after_ms)
        self.limit = limit


class AccessDenied(ServiceError):
    """The caller may not do this. The text holds no credential, and nothing that the caller may not know."""


class Unauthenticated(AccessDenied):
    """There is no credential, or it is not valid (any more)."""


class PermissionDenied(AccessDenied):
    """The credential is valid and does not grant this right in these groups."""


class StepError(KgError):
    """A pipeline step failed for an item. The text becomes the parked reason: it never quotes bodies.

    `usage` is what the failed work cost; whoever does the work adds it.
    """

    usage: Usage = FREE


class ModelUnavailable(StepError):
    """The model server did not answer: rate limit, timeout, refused connection."""

    def __init__(self, message: str, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class ModelOff(ModelUnavailable):
    """An operator has switched the model servers off: this one was not called."""

    def __init__(self) -> None:
        super().__init__("the service is in the mode model-off: no model is called until an operator ends it")


class ModelOutputInvalid(StepError):
    """The model answered something that the schema, the limits or the references forbid."""


class StoreRefused(StepError):
    """The store's engine refuses this write for what it says, and would again: nothing was written."""


class LeaseLost(KgError):
    """The group's fencing token is no longer ours, or its epoch moved on: drop the work."""


class RevisionChanged(KgError):
    """The group's revision is not the one the plan was made for: read again and plan again."""
