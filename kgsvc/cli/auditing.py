"""What a command that changes something on this machine notes in the audit."""

from __future__ import annotations

import getpass
from collections.abc import Sequence

from kgsvc.access.audit import Audit, AuditError
from kgsvc.access.settings import STDOUT, AccessSettings
from kgsvc.cli.options import Failure


def note(
    access: AccessSettings, operation: str, groups: Sequence[str], credential: str | None = None
) -> None:
    """Note what was done where the service notes calls, if that is a file. Raises Failure."""
    if access.audit is None or access.audit == STDOUT:
        return
    try:
        audit = Audit(access.audit)
    except AuditError as error:
        raise Failure(f"done, but: {error}") from error
    who = f"{getpass.getuser()} on this machine"
    entry = {"who": who, "operation": operation, "groups": groups, "credential": credential}
    audit.note({**entry, "outcome": "success"})
    audit.close()
