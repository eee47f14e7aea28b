"""Which files a command takes: those that are named, and what folders hold, in the order of their paths."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgsvc.documents.reading.formats import SUFFIXES

ITEMS = frozenset({".json", ".jsonl", ".ndjson"})
STDIN = Path("-")


@dataclass(frozen=True, slots=True)
class Found:
    """Files to take, and how many others the folders hold."""

    items: tuple[Path, ...]  # messages and episodes
    documents: tuple[Path, ...]
    others: tuple[Path, ...]  # named, and of a kind that their names do not tell
    passed_over: int

    @property
    def count(self) -> int:
        """Files to take."""
        return len(self.items) + len(self.documents) + len(self.others)


def find(sources: Sequence[Path]) -> Found:
    """The files that `sources` name, each once. Hidden files and symbolic links in folders are left alone."""
    named = dict.fromkeys(source for source in sources if not source.is_dir())
    inside = dict.fromkeys(path for source in sources if source.is_dir() for path in _inside(source))
    known = [path for path in [*named, *inside] if _kind(path) is not None]
    return Found(
        items=tuple(dict.fromkeys(path for path in known if _kind(path) in ITEMS)),
        documents=tuple(dict.fromkeys(path for path in known if _kind(path) in SUFFIXES)),
        others=tuple(path for path in named if _kind(path) is None),
        passed_over=sum(_kind(path) is None for path in inside),
    )


def _kind(path: Path) -> str | None:
    suffix = path.suffix.lower()
    return suffix if suffix in ITEMS or suffix in SUFFIXES else None


def _inside(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):  # the files of a folder before those of its folders
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path
