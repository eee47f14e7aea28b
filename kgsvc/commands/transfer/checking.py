"""Reading a whole file before any of it is written: what is wrong is told by line and reason, not by content.

Kinds of rows come in one order, and the rows of a kind by their keys. So what a row refers to was read before
it, no key comes twice, and only entities and names need be remembered: eight bytes of a keyed hash of each.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from kgsvc.commands.transfer.content import Hash, TransferError
from kgsvc.commands.transfer.exporting import KEYS
from kgsvc.commands.transfer.rows import (
    ROW,
    DocumentRow,
    EndRow,
    EntityRow,
    EpisodeRow,
    FactRow,
    HeaderRow,
    OntologyRow,
)
from kgsvc.commands.transfer.shapes import FORMAT, FORMAT_VERSION, reason_of
from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.items import SCRATCH
from kgsvc.domain.model.keys import fingerprint
from kgsvc.domain.model.moving import RowKind
from kgsvc.domain.text import NORMALISER_VERSION, has_invisible
from kgsvc.ontology import OntologyError, read

MOST_LINE = 64 * 1024 * 1024  # bytes
_TOLD_LINES = 1_000
PARTS: frozenset[str] = frozenset(RowKind)
_ORDER = ["header", "ontology", *RowKind, "end"]


class FileRefused(TransferError, InvalidArgument):
    """Why nothing of a file is imported, with the line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}", [Violation(f"line {line}", reason)])


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that was read whole and found right."""

    header: HeaderRow
    ontology: str | None
    counts: Counter[str]  # rows of each kind
    sha256: str  # of the whole file
    first_episode: int  # its line
    ranks: NDArray[np.int64]  # of the episodes in their order: which each is by acceptance
    body_bytes: int  # of all episodes
    lines: int


def lines_of(path: Path, sums: Hash) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, added to a hash behind the caller. Raises FileRefused, OSError."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise FileRefused(number, f"is longer than {MOST_LINE} bytes")
            if not line.endswith(b"\n"):
                raise FileRefused(number, "has no line break at its end: the file was cut short")
            yield number, line
            sums.update(line)


def row_of_line(number: int, line: bytes) -> Any:
    """Raises FileRefused."""
    try:
        return ROW.validate_json(line)
    except ValidationError as error:
        raise FileRefused(number, reason_of(error)) from None


def check(path: Path, limits: Limits) -> CheckedFile:
    """Read all of it. Raises FileRefused, OSError."""
    *_, found = checking(path, limits)
    assert isinstance(found, CheckedFile)
    return found


def checking(path: Path, limits: Limits, group_id: str | None = None) -> Iterator[int | CheckedFile]:
    """Read all of it: how many lines are checked, now and then, and in the end what they are. `group_id`: the
    only group that it may hold. Raises FileRefused, OSError."""
    checker, sums, number = _Checker(limits, group_id), hashlib.sha256(), 0
    for number, line in lines_of(path, sums):
        checker.take(number, row_of_line(number, line), sums)
        if number % _TOLD_LINES == 0:
            yield number
    if checker.header is None or not checker.over:
        raise FileRefused(number + 1, "is missing: the file ends before its last row, which is of kind end")
    order = np.argsort(np.frombuffer(checker.sequences, np.int64), kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    read_whole = (checker.header, checker.ontology, checker.counts, sums.hexdigest())
    yield CheckedFile(*read_whole, checker.first_episode, ranks, checker.body_bytes, number)


@dataclass(slots=True)
class _Checker:
    """What is known of the lines before."""

    limits: Limits
    group_id: str | None = None
    header: HeaderRow | None = None
    ontology: str | None = None
    counts: Counter[str] = field(default_factory=Counter)
    sequences: array[int] = field(default_factory=lambda: array("q"))
    first_episode: int = 0
    body_bytes: int = 0
    over: bool = False
    _kind: str = ""
    _key: str = ""
    _entities: set[bytes] = field(default_factory=set)
    _names: set[bytes] = field(default_factory=set)
    _secret: bytes = field(default_factory=lambda: os.urandom(16))

    def take(self, number: int, row: Any, sums: Hash) -> None:
        """The next row. Raises FileRefused."""
        if self.over:
            raise FileRefused(number, "stands behind the last row, which is of kind end")
        problem = self._place(row) or self._content(row, sums)
        if problem:
            raise FileRefused(number, problem)
        if isinstance(row, EpisodeRow) and not self.first_episode:
            self.first_episode = number
        if not isinstance(row, HeaderRow | EndRow):
            self.counts[row.row] += 1

    def _place(self, row: Any) -> str:
        """What is wrong with where it stands."""
        if (self.header is None) is not isinstance(row, HeaderRow):
            return "row: the first one, and no other, is of kind header"
        if row.row not in PARTS:
            late = _ORDER.index(row.row) <= _ORDER.index(self._kind) if self._kind else False
            self._kind, self._key = row.row, ""
            return f"row: {row.row} comes too late" if late else ""
        key = getattr(row, KEYS.get(RowKind(row.row), "uuid"))
        if row.row == self._kind and key <= self._key:
            return f"{KEYS.get(RowKind(row.row), 'uuid')}: is not behind that of the row before, in order"
        if _ORDER.index(row.row) < _ORDER.index(self._kind):
            return f"row: {row.row} comes too late: it belongs before rows of kind {self._kind}"
        self._kind, self._key = row.row, key
        return ""

    def _content(self, row: Any, sums: Hash) -> str:
        """What is wrong with what it says, given the rows before."""
        if isinstance(row, EndRow):
            return self._end_problem(row, sums)
        check = _CHECKS.get(type(row))
        return "" if check is None else check(self, row)

    def _header_problem(self, row: HeaderRow) -> str:
        self.header = row
        if self.group_id not in (None, row.group_id):
            return "group_id: is not the group that the call names"
        return _header_problem(row, self.limits)

    def _ontology_problem(self, row: OntologyRow) -> str:
        self.ontology = row.yaml
        try:
            read(row.yaml)
        except OntologyError as error:
            return f"yaml: {str(error).splitlines()[0]}"
        return ""

    def _document_problem(self, row: DocumentRow) -> str:
        for n, each in enumerate(row.places):
            if not each.start <= each.own_start <= each.end:
                return f"places.{n}: ends before it begins"
        numbers = [each.revision for each in row.former]
        return "" if numbers == sorted(set(numbers)) else "former: is not in order of revisions"

    def _fact_problem(self, row: FactRow) -> str:
        ends = {"source_uuid": row.source_uuid, "target_uuid": row.target_uuid}
        wrong = [end for end, uuid in ends.items() if not self._there(uuid)]
        return f"{wrong[0]}: names no entity of the file" if wrong else ""

    def _entity_problem(self, row: EntityRow) -> str:
        self._entities.add(self._hash(row.uuid))
        for place, name in enumerate(row.names):
            if (known := self._hash(name)) in self._names:
                return f"names.{place}: leads to another entity already"
            self._names.add(known)
        return ""

    def _episode_problem(self, row: EpisodeRow) -> str:
        self.sequences.append(row.item.sequence)
        self.body_bytes += len(row.body.encode())
        seen: set[str] = set()
        for place, each in enumerate(row.mentions):
            if not self._there(each.entity_uuid):
                return f"mentions.{place}.entity_uuid: names no entity of the file"
            if each.entity_uuid in seen:
                return f"mentions.{place}.entity_uuid: is named twice"
            seen.add(each.entity_uuid)
        return ""

    def _end_problem(self, row: EndRow, sums: Hash) -> str:
        self.over = True
        for kind in sorted({*row.rows, *self.counts}):
            if row.rows.get(kind, 0) != self.counts[kind]:
                return f"rows.{kind}: says {row.rows.get(kind, 0)}, there are {self.counts[kind]}"
        return "" if row.sha256 == sums.hexdigest() else "sha256: is not that of the lines before"

    def _there(self, uuid: str) -> bool:
        return self._hash(uuid) in self._entities

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode(), digest_size=8, key=self._secret).digest()


def _header_problem(row: HeaderRow, limits: Limits) -> str:
    group = row.group_id
    if row.version != FORMAT_VERSION:
        return f"version: is {row.version}, this version of kgsvc reads {FORMAT_VERSION} of {FORMAT}"
    if group.isspace() or has_invisible(group) or group.startswith(SCRATCH) or len(group) > limits.group_id:
        return "group_id: is not a name that a group may have"
    if row.normaliser != NORMALISER_VERSION:
        return f"normaliser: names were compared by version {row.normaliser}, here by {NORMALISER_VERSION}"
    if row.digest_key != fingerprint():
        return "digest_key: uuids and digests depend on another key than store.digest_key"
    return ""


_CHECKS: Mapping[type[Any], Callable[[_Checker, Any], str]] = {
    HeaderRow: _Checker._header_problem,
    OntologyRow: _Checker._ontology_problem,
    DocumentRow: _Checker._document_problem,
    EntityRow: _Checker._entity_problem,
    EpisodeRow: _Checker._episode_problem,
    FactRow: _Checker._fact_problem,
}
