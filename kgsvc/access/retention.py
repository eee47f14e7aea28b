"""How long groups keep what they hold: a file of TOML that names groups as scopes do.

    [[retention]]
    groups = "acme/"          # a group, a prefix that ends with / or :, or *
    episodes_days = 365       # episodes and documents whose reference time is further back go
    ended_facts_days = 90     # facts that ceased to hold before that go

The first entry that covers a group counts; without one, nothing goes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kgsvc.access.scopes import covers
from kgsvc.domain.errors import KgError
from kgsvc.domain.limits import DAY_MS, FROM_ZERO

_DAYS = ("episodes_days", "ended_facts_days")


class RetentionError(KgError):
    """The file cannot be read, or says something that is no retention."""


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """What goes by itself after a time."""

    file: Path | None = None  # kgsvc.access.retention says what it holds
    undo_days: Annotated[int, FROM_ZERO] = 90  # merges and splits can be undone; 0: for good


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days the groups of a pattern keep things; None: for good."""

    groups: str
    episodes_days: int | None = None
    ended_facts_days: int | None = None

    def horizons(self, now_ms: int) -> tuple[int | None, int | None]:
        """Before which times episodes go, and facts that had ended by then."""
        episodes, facts = (
            None if days is None else now_ms - days * DAY_MS
            for days in (self.episodes_days, self.ended_facts_days)
        )
        return episodes, facts


def retention_of(policies: Sequence[Retention], group_id: str) -> Retention | None:
    """What holds for a group."""
    return next((each for each in policies if covers(each.groups, group_id)), None)


def read_retention(path: Path) -> tuple[Retention, ...]:
    """What the file says. Raises RetentionError, naming the entry and what is wrong with it."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("retention", [])
    except OSError as error:
        raise RetentionError(f"retention.file: {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RetentionError(f"retention.file: {path} is not TOML: {error}") from error
    if not isinstance(entries, list):
        raise RetentionError(f"retention.file: {path}: write [[retention]]")
    return tuple(_entry(entry, f"retention.file: entry {number}") for number, entry in enumerate(entries, 1))


def _entry(entry: object, where: str) -> Retention:
    if not isinstance(entry, dict):
        raise RetentionError(f"{where}: write [[retention]]")
    groups = entry.get("groups")
    if not isinstance(groups, str) or not groups:
        raise RetentionError(f"{where}: groups is required: a group, a prefix that ends with / or :, or *")
    if unknown := entry.keys() - {"groups", *_DAYS}:
        raise RetentionError(f"{where}: unknown {', '.join(sorted(unknown))}")
    days = {name: entry[name] for name in _DAYS if name in entry}
    for name, value in days.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise RetentionError(f"{where}: {name} is a number of days, 1 or more")
    return Retention(groups, **days)
