"""What a plan reads and what it writes. Stores load the one and apply the other; they decide nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgsvc.domain.model.graph import Entity, Fact, Mention, Usage
from kgsvc.domain.model.items import Transition


@dataclass(frozen=True, slots=True)
class GroupHead:
    """The group's record. `rev` grows with every change of its graph, `epoch` with DeleteGroup/ClearAll.

    A group that does not exist has rev 0, epoch 0, last_ms 0.
    """

    group_id: str
    rev: int = 0
    epoch: int = 0
    last_ms: int = 0  # system time of the last change; the next is max(now, last_ms + 1)
    space: str = field(default="", compare=False)  # of the vectors in use; empty: there are none yet

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written to its graph."""
        return self.rev == 0


@dataclass(frozen=True, slots=True)
class FactTombstone:
    """A hard-deleted fact: statements accepted no later than `deleted_ms` cannot bring it back."""

    uuid: str
    slot: str
    fact: str  # normalised text's digest, never the text
    deleted_ms: int


@dataclass(frozen=True, slots=True)
class NameView:
    """Entities found for names: by name_key (names and aliases), and by uuid where asked."""

    head: GroupHead
    by_key: Mapping[str, Entity]
    by_uuid: Mapping[str, Entity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlotView:
    """Every fact of the asked slots, open and closed, and what was deleted from them."""

    facts: tuple[Fact, ...] = ()
    tombstones: tuple[FactTombstone, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """An idempotency key of a caller's own graph write, recorded in the write's transaction.

    Shares the keys of `IntakeStore.accept`: scoped to (operation, group), kept for the window.
    """

    operation: str
    key: str
    input_hash: str
    now_ms: int
    dedup_window_ms: int = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """One entity went into another; `data` is what is needed to take that back (domain.names.merging).

    Also of a split (domain.names.splitting): then `merged_uuid` was taken out of `kept_uuid`, and `data` says
    so. `by_episode` showed them to be one; empty: a caller asked for it.
    """

    merge_id: str
    group_id: str
    merged_uuid: str
    kept_uuid: str
    created_ms: int
    data: str
    by_episode: str = ""


@dataclass(frozen=True, slots=True)
class Erased:
    """What a change removes for an erasure: noted with it, in its transaction."""

    erasure_id: str
    removed: Mapping[str, int]  # rows by kind
    over: bool = True  # False: other changes of the same erasure follow; what they remove adds up


@dataclass(frozen=True, slots=True)
class SpaceVectors:
    """Vectors of one space, as a `GraphDelta` has them."""

    space: str
    vectors: Mapping[str, bytes] = field(default_factory=dict)
    passages: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphDelta:
    """One atomic change of a group's graph. Rows are whole: the store writes them as they are.

    Written facts and facts of renamed entities get the group's new `rev`; removed facts are reported by
    `changes` as removed.
    """

    group_id: str
    system_ms: int  # becomes the group's last_ms
    entities: tuple[Entity, ...] = ()  # insert or replace, by uuid
    names: Mapping[str, str] = field(default_factory=dict)  # name_key -> entity uuid: put
    facts: tuple[Fact, ...] = ()  # insert or replace, by uuid
    mentions: tuple[Mention, ...] = ()  # insert; a pair (episode, entity) that is there gets names and types
    episode_edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # episode -> fact uuids: set
    remove_facts: tuple[FactTombstone, ...] = ()  # delete if there, leave the tombstone
    # Leave a tombstone where the uuid has none: a fact went to another slot, no new one may get its uuid.
    reserve_facts: tuple[FactTombstone, ...] = ()
    remove_episodes: tuple[str, ...] = ()  # delete with its MENTIONS, its item and its receipt's claim
    remove_mentions: tuple[tuple[str, str], ...] = ()  # (episode, entity): delete if there
    remove_names: tuple[str, ...] = ()  # name_keys: delete if there; their entity is written too
    remove_name_tokens: tuple[tuple[str, str], ...] = ()  # (token, entity): no longer a search term for it
    unsaid: tuple[
        str, ...
    ] = ()  # entities and facts written here that lost words: communities must not keep these
    merges: tuple[MergeRecord, ...] = ()  # insert
    remove_merges: tuple[str, ...] = ()  # by merge_id: delete if there
    remove_entities: tuple[str, ...] = ()  # delete with names, MENTIONS, vector; no fact may be left on them
    vectors: Mapping[str, bytes] = field(default_factory=dict)  # fact or entity uuid -> float32 little-endian
    # Episode uuid -> the vectors of its passages, one behind the other: as `vectors`.
    passages: Mapping[str, bytes] = field(default_factory=dict)
    space: str = ""  # of `vectors` and `passages`
    # The same rows in the space that is in use while the group goes over to `space`.
    beside: SpaceVectors | None = None
    transitions: tuple[Transition, ...] = ()
    requires_items: tuple[str, ...] = ()  # must be unfinished, under a token started by its lease: StaleItems
    found: tuple[str, ...] = ()  # episodes that searches return from here on, even if nothing was extracted
    hide_episodes: tuple[
        str, ...
    ] = ()  # searches do not return them from here on; they stay, and their facts
    bumps_rev: bool = True  # False: only transitions
    spent: Mapping[str, Usage] = field(
        default_factory=dict
    )  # item -> model work to count for it, in any state
    erased: Erased | None = None  # the erasure that this change carries out
    claim: Claim | None = None  # known with the same input: nothing is written; with another: Conflict

    @property
    def forgets(self) -> bool:
        """Whether summaries of communities may have to lose words by it."""
        return bool(self.remove_facts or self.remove_entities or self.unsaid)

    @property
    def touched_entities(self) -> set[str]:
        """Entities whose entry in an index it changes. Who loses a name is written or removed as well."""
        vectors = self.vectors.keys() - {fact.uuid for fact in self.facts}
        return vectors | {entity.uuid for entity in self.entities} | set(self.names.values())

    @property
    def touched_episodes(self) -> set[str]:
        """Episodes whose entry in an index it changes, but for those that name a removed entity."""
        mentions = {mention.episode_uuid for mention in self.mentions}
        return mentions.union(
            self.found, self.passages, (episode for episode, _entity in self.remove_mentions)
        )

    @property
    def closures(self) -> list[tuple[str, str]]:
        """Which episodes closed which facts of other slots."""
        return [(closure.by_episode, fact.uuid) for fact in self.facts for closure in fact.closures]


@dataclass(frozen=True, slots=True)
class Guard:
    """Under which conditions a delta may be written. Checked first, under the group's lock."""

    rev: int  # the group's rev that was read; else RevisionChanged
    epoch: int  # else LeaseLost
    token: int | None = None  # the lease's fencing token; None: a caller's own write
    releases: bool = False  # the lease is given up with the change


class StaleItems(Exception):
    """Items that a delta completes were deleted or finished meanwhile, or deleted and sent again: then they
    are not those that the lease started. Nothing was written."""

    def __init__(self, uuids: tuple[str, ...]) -> None:
        super().__init__(f"{len(uuids)} items are no longer those that were begun")
        self.uuids = uuids
