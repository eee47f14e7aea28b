"""Scopes: which groups an identity reaches, and with which right; and the caller of the running call.

A pattern is a group (`acme`), a prefix that ends at a delimiter (`acme/`, `acme:`: every group that begins
so), or `*`: every group, those to come included. Patterns compare code point by code point, as stores do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum

from kgsvc.domain.errors import PermissionDenied

EVERY_GROUP = "*"
DELIMITERS = ("/", ":")


class Right(IntEnum):
    """What may be done; a higher right includes the lower ones."""

    READ = 1
    WRITE = 2  # add, correct, delete what a group holds
    ADMIN = 3  # delete whole groups, set their types

    @classmethod
    def of(cls, name: object) -> Right:
        """The right with this name, in small letters. Raises ValueError."""
        found = {right.name.lower(): right for right in cls}.get(name) if isinstance(name, str) else None
        if found is None:
            raise ValueError(f"a right is one of {', '.join(right.name.lower() for right in cls)}")
        return found


Scopes = Mapping[str, Right]  # by pattern


def scopes_of(given: object) -> dict[str, Right]:
    """Scopes as people and tokens write them: a mapping of patterns to rights, or a list (or a text with
    blanks between) of `right:pattern`. Raises ValueError."""
    if isinstance(given, str):
        given = given.split()
    if isinstance(given, list):
        pairs = [(pattern, right) for right, _, pattern in (str(each).partition(":") for each in given)]
    elif isinstance(given, dict):
        pairs = list(given.items())
    else:
        raise ValueError("scopes are a mapping of groups to rights, or a list of right:group")
    scopes: dict[str, Right] = {}
    for pattern, right in pairs:
        if not isinstance(pattern, str) or not pattern:
            raise ValueError("a scope names a group, a prefix that ends with / or :, or *")
        scopes[pattern] = max(Right.of(right), scopes.get(pattern, Right.READ))
    return scopes


def spans(scopes: Scopes) -> list[tuple[str, str]]:
    """Where groups lie that are reached: from a first name on and before a second one, sorted and apart."""
    found: list[tuple[str, str]] = []
    for first, end in sorted(map(_span, scopes)):
        if not found or first >= found[-1][1]:
            found.append((first, end))
    return found


def _span(pattern: str) -> tuple[str, str]:
    if pattern == EVERY_GROUP:
        return "", chr(0x10FFFF)  # no character, so that no text begins with it
    if pattern.endswith(DELIMITERS):
        return pattern, pattern[:-1] + chr(ord(pattern[-1]) + 1)
    return pattern, next_after(pattern)


def next_after(group_id: str) -> str:
    """The name that comes next in the order of code points."""
    return group_id + "\0"


def covers(pattern: str, group_id: str) -> bool:
    """Whether a pattern reaches a group."""
    if pattern in {EVERY_GROUP, group_id}:
        return True
    return pattern.endswith(DELIMITERS) and group_id.startswith(pattern)


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody whose identity was proven. `credential` or `key` is what proved it, until `expires_ms` (None:
    for as long as that is known)."""

    name: str
    scopes: Scopes
    credential: str | None = None  # its id, where it can be revoked
    expires_ms: int | None = None
    key: str | None = None  # of somebody else's token: by which the issuer's key that signed it is known

    def right_in(self, group_id: str) -> int:
        """The highest right in a group; 0: none."""
        return max((right for pattern, right in self.scopes.items() if covers(pattern, group_id)), default=0)


# Where no credentials are configured, everybody may do everything.
ANYBODY = Principal("anybody", {EVERY_GROUP: Right.ADMIN})


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal and the right that the call at hand needs."""

    principal: Principal = ANYBODY
    needs: Right = Right.READ

    def require_somewhere(self) -> None:
        """Raises PermissionDenied when no group is reached with the right, whatever the request says."""
        if max(self.principal.scopes.values(), default=0) < self.needs:
            raise self._denied()

    def require(self, group_ids: Iterable[str]) -> None:
        """Raises PermissionDenied unless all of the groups are reached with the right."""
        if any(self.principal.right_in(group_id) < self.needs for group_id in group_ids):
            raise self._denied()

    def sees(self, group_id: str) -> bool:
        """Whether it may know that something in the group exists."""
        return self.principal.right_in(group_id) >= Right.READ

    def _denied(self) -> PermissionDenied:
        right = self.needs.name.lower()
        return PermissionDenied(f"the credential does not grant {right} in what is asked for")


current_caller: ContextVar[Caller] = ContextVar("current_caller", default=Caller())  # noqa: B039 - frozen
