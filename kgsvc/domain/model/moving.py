"""A group on its way from one store to another: its rows with all that hangs on them, in pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kgsvc.domain.model.delta import FactTombstone, MergeRecord
from kgsvc.domain.model.documents import Document, Place
from kgsvc.domain.model.graph import FREE, Entity, Episode, Fact, Mention, Usage
from kgsvc.domain.model.items import ItemState, ItemWarning, Step


class RowKind(StrEnum):
    """The kinds of rows, in the order in which they are written: what a row refers to stands before it."""

    DOCUMENT = "document"
    ENTITY = "entity"
    EPISODE = "episode"
    RECEIPT = "receipt"
    TOMBSTONE = "tombstone"
    FACT = "fact"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Vectors:
    """One vector, or several behind one another, of a space: float32 little-endian."""

    space: str
    data: bytes


@dataclass(frozen=True, slots=True)
class MovedItem:
    """What is known of an episode as an item. One that was unfinished begins anew."""

    state: ItemState
    receipt_id: str
    accepted_ms: int
    updated_ms: int
    sequence: int  # greater than of what the group accepted before it
    attempts: Mapping[str, int] = field(default_factory=dict)  # see QueuedItem
    step: Step | None = None
    reason: str | None = None
    usage: Usage = FREE
    previous: tuple[str, ...] = ()
    warnings: tuple[ItemWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class MovedDocument:
    """A document with its places, every chunk that it had (whether it still speaks, by uuid), and the places
    of former texts by the number of their revision."""

    document: Document
    places: tuple[Place, ...]
    chunks: Mapping[str, bool]
    former: Mapping[int, tuple[Place, ...]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """By which rows of the kind are in order."""
        return self.document.document_id


@dataclass(frozen=True, slots=True)
class MovedEntity:
    """An entity with the keys of its names."""

    entity: Entity
    names: tuple[str, ...] = ()
    vector: Vectors | None = None

    @property
    def key(self) -> str:
        """By which rows of the kind are in order."""
        return self.entity.uuid


@dataclass(frozen=True, slots=True)
class MovedEpisode:
    """An episode with its item and what it left in the graph."""

    episode: Episode
    item: MovedItem
    found: bool = False  # whether searches return it
    facts: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    passages: Vectors | None = None

    @property
    def key(self) -> str:
        """By which rows of the kind are in order."""
        return self.episode.uuid


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry of a receipt. `there`: the item still is that of the receipt."""

    uuid: str
    duplicate: bool = False
    there: bool = True


@dataclass(frozen=True, slots=True)
class MovedReceipt:
    """A receipt of items of the group."""

    receipt_id: str
    created_ms: int
    items: tuple[Listed, ...]

    @property
    def key(self) -> str:
        """By which rows of the kind are in order."""
        return self.receipt_id


@dataclass(frozen=True, slots=True)
class MovedFact:
    """A fact."""

    fact: Fact
    vector: Vectors | None = None

    @property
    def key(self) -> str:
        """By which rows of the kind are in order."""
        return self.fact.uuid


@dataclass(frozen=True, slots=True)
class MovedTombstone:
    """What is left of a removed fact; `reserved`: of one that went to another slot."""

    tombstone: FactTombstone
    reserved: bool = False

    @property
    def key(self) -> str:
        """By which rows of the kind are in order."""
        return self.tombstone.uuid


@dataclass(frozen=True, slots=True)
class MovedMerge:
    """What is needed to take a merge or a split back."""

    record: MergeRecord

    @property
    def key(self) -> str:
        """By which rows of the kind are in order."""
        return self.record.merge_id


Moved = MovedDocument | MovedEntity | MovedEpisode | MovedReceipt | MovedFact | MovedTombstone | MovedMerge


@dataclass(frozen=True, slots=True)
class ImportStart:
    """What begins an import. `import_id` tells a file from every other one."""

    group_id: str
    import_id: str
    episodes: int  # that will come
    now_ms: int


@dataclass(frozen=True, slots=True)
class ImportPage:
    """The next rows of an import, all of one kind, from one place in the file to another."""

    group_id: str
    import_id: str
    after: int  # lines that were written before
    upto: int  # lines that are written with these
    rows: tuple[Moved, ...]
    ranks: Mapping[str, int] = field(default_factory=dict)  # of episodes: which it is in order of acceptance
    keepers: tuple[str, ...] = ()  # subjects of quotas for which bodies of episodes are counted


@dataclass(frozen=True, slots=True)
class ImportEnd:
    """What puts all rows of an import in sight."""

    group_id: str
    import_id: str
    last_ms: int  # system time of the group's last change
    ontology: str | None
    now_ms: int
