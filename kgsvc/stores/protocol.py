"""What the service asks of a store. Stores read and write; what accepting and guarding decide is
in admission.py, once for all of them.

Besides what its docstring says every method may raise StoreUnavailable (connection lost, deadline passed,
disk full) and StoreRefused (a value is too large or of a wrong kind for the engine: repeating cannot help).
A write is one atomic, durable transaction: once the call returned it survives a crash; when it raised or was
cancelled it happened whole or not at all.

stores/embedded and stores/neo4j implement it; the suite tests/conformance runs on both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard, MergeRecord, NameView, SlotView
from kgsvc.domain.model.graph import Citation, Entity, Episode, Fact, Mention
from kgsvc.domain.model.items import Claimed, GroupWork, Lease, QueuedItem, Transition
from kgsvc.domain.names.forgetting import Saying
from kgsvc.domain.resolution.decisions import CandidateQuery, NameCandidates
from kgsvc.stores.community_protocol import CommunityStore
from kgsvc.stores.consistency import ConsistencyStore
from kgsvc.stores.fill_protocol import FillStore
from kgsvc.stores.intake_protocol import DocumentStore, ErasureStore, IntakeStore
from kgsvc.stores.mode_protocol import ModeStore
from kgsvc.stores.search_protocol import ColdSearchStore, ProofStore, SearchStore
from kgsvc.stores.transfer_protocol import TransferStore


@dataclass(frozen=True, slots=True)
class Anchor:
    """An episode whose earlier episodes are asked for; with `named` those of them that exist, instead."""

    uuid: str
    reference_ms: int
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodeCut:
    """Which part of a group's latest episodes is read. Keys are (reference_ms, uuid)."""

    upto: tuple[int, str] | None = None  # the latest are counted back from this key, itself included
    after: tuple[int, str] | None = None  # of those, only the ones behind this key
    max_bytes: int | None = None  # reading stops after the episode with which the bodies exceed this


WHOLE = EpisodeCut()


_EVERY = 2**63 - 1
LATEST = (_EVERY, "")  # the key behind which all of a listing stands


@dataclass(frozen=True, slots=True)
class MergesWhere:
    """Which merges are read: all of a group, or those of one of the first four, of which at most one is
    given; of them `limit` behind the key (created_ms, merge_id), up to the one with which the data exceed
    `max_bytes`."""

    merge_id: str | None = None
    entity_uuid: str | None = None  # is on either side
    by_episode: str | None = None  # caused them; "" is none
    text: str | None = None  # is in their data; reads every merge of the group
    limit: int = _EVERY
    max_bytes: int = _EVERY
    behind: tuple[int, str] = LATEST


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """What `doctor`, Healthcheck and metrics show of a store."""

    kind: str  # embedded | neo4j
    version: str  # of the engine
    schema_version: int


@dataclass(frozen=True, slots=True)
class GroupSize:
    """How much a group holds. `facts` counts former ones too; `changed_ms` 0: its graph never changed;
    `waiting`: items that are not finished; `paused_ms`: since when they are not worked on, None: they are."""

    group_id: str
    episodes: int
    entities: int
    facts: int
    changed_ms: int
    waiting: int
    parked: int
    paused_ms: int | None = None


class QueueStore(Protocol):
    """Group leases and the items behind them (docs/ingestion.md)."""

    async def ready_groups(self, now_ms: int, limit: int) -> list[GroupWork]:
        """Groups with an unfinished item whose next_ms ≤ now_ms: those that have an owner, who may have died,
        then the others, each the least recently served first, at most `limit` of each. The cost must not grow
        with one group's backlog."""

    async def next_due_ms(self, after_ms: int) -> int | None:
        """When, after this time, a group has something due that has nothing due before, not later than that:
        when to look again. None: there is none."""

    async def begin(
        self, seen: Sequence[GroupWork], owner_id: str, now_ms: int, limit: int, max_bytes: int
    ) -> list[Claimed | None]:
        """Take the leases of these groups, all in one transaction, where the group's record still is as
        `seen` (token, owner, renewals): new token = token + 1, owner set, served_ms = now_ms. When `seen` had
        another owner, its started items become suspect; those of a lease of the same owner, of which the
        answer was lost, are unmarked as by `release`: no process died. Items of an older epoch end, shown as
        DELETED (group_deleted). One result a group, in order; None: somebody was faster.

        Their due items are started as `start_items` does: at most `limit` of a group, and of bodies about its
        equal share of `max_bytes`; whether more are due that did not fit into these bytes is told. A group of
        which a suspect is due comes without items: `start_items` begins that one alone."""

    async def renew(self, leases: Sequence[Lease]) -> list[str]:
        """Move the renewal counters of the leases that are still held; returns the group_ids still held."""

    async def release(self, lease: Lease) -> None:
        """Give the group up, unmark started items, take back the crash counted when a suspect among them was
        begun: no process died. Nothing if the lease is no longer held."""

    async def start_items(
        self, lease: Lease, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
    ) -> list[QueuedItem]:
        """Unfinished due items by (reference_ms, uuid), at most `limit` and about `max_bytes` of bodies (at
        least one), marked as started by this lease, not those in `exclude`. Suspects come only alone: when
        nothing is excluded and a suspect is due, that one item is returned and its attempts["crash"] is one
        more than before (a crash now counts against it). Any later transition clears the suspicion, not the
        count. LeaseLost."""

    async def save_transitions(self, lease: Lease, transitions: Sequence[Transition]) -> None:
        """Write states and stages of unfinished items that this lease has started; others are passed over: an
        item that was deleted and sent again is not the one whose work this is. A transition into a failure
        substate, PARKED or ACCEPTED also unmarks `started`. LeaseLost."""

    async def previous_episodes(
        self, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
    ) -> dict[str, tuple[Episode, ...]]:
        """For each anchor uuid the latest `limit` accepted episodes but chunks that come before it by
        (reference_ms, uuid), oldest first, bodies cut to `max_chars`. For an anchor that names episodes
        those of the group that there are, of any source and time, but for itself."""

    async def relations(self, group_id: str, latest: int, limit: int) -> list[str]:
        """Names of the latest `latest` facts by (rev that wrote them, uuid): the `limit` most frequent, the
        most frequent first, then by name."""


class GraphStore(Protocol):
    """Reading the context of a plan, writing its delta."""

    async def names(self, group_id: str, name_keys: Collection[str], uuids: Collection[str] = ()) -> NameView:
        """The group's head and the entities owning these names or having these uuids."""

    async def slots(self, group_id: str, slots: Collection[str]) -> SlotView:
        """All facts and tombstones of these conflict keys."""

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        """Lock the group, check the guard, write everything, bump rev (if bumps_rev), set last_ms.

        Raises LeaseLost (the token is not that of a lease still held, or the epoch differs), RevisionChanged
        (rev differs), StaleItems (naming those of `requires_items` that are gone or terminal or, under a
        token, not started by its lease: deleted and sent again), Conflict (a name belongs to an entity that
        is neither written nor removed here, which cannot happen at an unchanged rev; a name or a fact points
        at an entity that does not exist). Under a token `transitions` pass over items that its lease has not
        started, as in `save_transitions`. Creates the group's record if needed (guard rev 0, epoch 0). When
        the name of an entity changes, the display names on its facts do too, and they count as changed.
        With `guard.releases` the lease is given up too, as by `release`.
        `delta.claim` is looked up right after the guard: a key known with the same input returns the head
        unchanged and writes nothing, with another input it raises Conflict, a new one is recorded.
        """

    async def entity(self, uuid: str, group_id: str | None) -> list[Entity]:
        """The entity with this uuid in the group. Without a group those of the first hundred groups by
        group_id that have one: the caller may not see all of them."""

    async def fact(self, uuid: str, group_id: str | None) -> list[Fact]:
        """The fact with this uuid, as `entity`."""

    async def episode(self, uuid: str, group_id: str | None) -> list[Episode]:
        """The episode with this uuid, as `entity`."""

    async def recent_episodes(self, group_id: str, limit: int, cut: EpisodeCut = WHOLE) -> list[Episode]:
        """The latest `limit` accepted episodes by (reference_ms, uuid), oldest first, parked ones too; of
        them the part that `cut` names, so that a page never loads the bodies of the whole range."""

    async def dump(self, group_id: str) -> GroupDump:
        """The whole graph of a group, for tests, doctor and export. Unbounded: not for serving."""


@dataclass(frozen=True, slots=True)
class GroupDump:
    """Everything a group holds, each part sorted by uuid."""

    head: GroupHead
    episodes: tuple[Episode, ...]
    entities: tuple[Entity, ...]
    names: dict[str, str]
    facts: tuple[Fact, ...]
    mentions: tuple[tuple[str, str], ...]  # (episode uuid, entity uuid)
    episode_edges: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class EntityEpisodes:
    """Episodes that name an entity: which is the first of all, and the latest ones, oldest first."""

    first_uuid: str | None
    latest: tuple[Episode, ...]


class CandidateStore(Protocol):
    """What new names and facts are compared with."""

    async def candidates(self, group_id: str, query: CandidateQuery) -> NameCandidates:
        """Everything that `query` asks for, in one round trip: by index, at a cost that is bounded by the
        query and does not grow with the group. Of more than fit, entities by ascending uuid and the latest
        facts by (start_ms, uuid) are taken. A token leads to an entity if a delta ever gave it a name or an
        identity with that token (names.similarity.search_terms). Vectors of names come by (rev that wrote
        them, uuid), none of a revision that is not all there; whoever asks on from the page's place misses
        none."""


class ResolutionStore(GraphStore, CandidateStore, Protocol):
    """What a commit reads and writes."""


@dataclass(frozen=True, slots=True)
class EpisodeTraces:
    """What an episode left in the graph: the slots of facts that it states, once stated or closed, and the
    entities that it names, by uuid."""

    slots: tuple[str, ...]
    entities: tuple[Entity, ...]


class HistoryStore(Protocol):
    """One thing with what hangs on it. By index; what is read is bounded by what was asked for
    and by what hangs on one entity."""

    async def facts(self, group_id: str, uuids: Collection[str]) -> list[Fact]:
        """Those of these facts that are there, by uuid."""

    async def citations(self, group_id: str, episode_uuids: Collection[str]) -> dict[str, Citation]:
        """Those of these episodes that are there, without bodies."""

    async def episode_edges(
        self, group_id: str, episode_uuids: Collection[str]
    ) -> dict[str, tuple[str, ...]]:
        """Which facts these episodes state, sorted; of those that are there. Episodes without are absent."""

    async def entity_facts(
        self,
        group_id: str,
        entity_uuid: str,
        limit: int,
        current_ms: int | None = None,
        other_uuid: str | None = None,
    ) -> list[Fact]:
        """Facts at either end, the latest by (start_ms, uuid) first; those that are valid at `current_ms`
        and not expired, or (None) all. With `other_uuid` those whose other end that is: itself for facts
        about one thing."""

    async def entity_episodes(
        self, group_id: str, entity_uuid: str, limit: int, max_bytes: int
    ) -> EntityEpisodes:
        """Episodes that name it, latest by (reference_ms, uuid); reading stops, going back, after the one
        with which the bodies exceed `max_bytes`."""

    async def entity_names(self, group_id: str, entity_uuid: str, limit: int) -> list[str]:
        """The first of the name keys that lead to it, sorted."""

    async def entity_mentions(
        self, group_id: str, entity_uuid: str, limit: int, among: Collection[str] | None = None
    ) -> list[str]:
        """The first by uuid of the episodes (of these episodes) that name it."""

    async def mentions(
        self, group_id: str, entity_uuid: str, episode_uuids: Collection[str]
    ) -> dict[str, Mention]:
        """By which MENTIONS these episodes name it; those that do not are absent."""

    async def types_said(self, group_id: str, entity_uuid: str) -> dict[str, int]:
        """Of each type that episodes gave the entity, how many of them did."""

    async def sayings(self, group_id: str, episode_uuid: str) -> dict[str, Saying]:
        """Of all entities that an episode names, by uuid."""

    async def merges(self, group_id: str, where: MergesWhere) -> list[MergeRecord]:
        """Merges and splits that were not taken back, the latest first by (created_ms, merge_id)."""

    async def merged(self, uuid: str, group_id: str | None) -> list[MergeRecord]:
        """The latest merges by which entities with this uuid went: in the group, or (None) of the first
        hundred groups by group_id."""

    async def facts_holding(self, group_id: str, text: str) -> list[Fact]:
        """The facts whose words hold this text, by uuid. Reads every fact of the group."""

    async def traces(self, group_id: str, episode_uuid: str) -> EpisodeTraces:
        """By its list of facts, those among them that were removed too, and the closures that name it."""

    async def unheld(
        self, group_id: str, entity_uuids: Collection[str], episode_uuid: str, fact_uuids: Collection[str]
    ) -> set[str]:
        """Those of these entities that nothing else holds: no episode but this one names them, and they are
        an end of no fact but these."""


class ReadStore(GraphStore, HistoryStore, Protocol):
    """What is known, and where from."""


class AdminStore(Protocol):
    """Life of the store and of whole groups."""

    async def migrate(self) -> int:
        """Make the schema where there is none, one process at a time; returns its version. StoreUnavailable
        when the store has that of another version."""

    async def keyed(self, fingerprint: int) -> int:
        """The fingerprint of the key that digests in the store depend on (kgsvc.domain.model.keys), 0: of
        none. A store without groups takes this one."""

    async def info(self) -> StoreInfo:
        """Reach the engine once and name it."""

    async def bad_indexes(self) -> list[str]:
        """Names of indexes (and tables) that its schema wants and that are missing or not ready."""

    async def clock_ms(self) -> int:
        """The time by the store's clock; in this process the time now or of the newest change, whichever is
        later."""

    async def delete_group(self, group_id: str, now_ms: int, erasure_id: str = "") -> None:
        """Bump the epoch, then remove episodes, edges, nodes, vectors, names, tombstones, receipts' content,
        idempotency keys; unfinished items end without content. The group's reads are empty from the first
        commit on, also if the process dies between the batches; `migrate`, `free_erased` or the next delete
        finishes an interrupted one. That commit also notes for the erasure how many rows of each kind
        (erasures.GROUP_COUNTS) there were. An unknown group is fine."""

    async def forget_group(self, group_id: str) -> None:
        """Remove the record that stays of a deleted group, if it is empty and not paused. Its epochs then
        begin anew, so that nobody else may work on it."""

    async def group_ids(self) -> list[str]:
        """Every group with content or an ontology, sorted."""

    async def busiest_groups(self, limit: int) -> list[str]:
        """The groups that were changed most often, at most so many, the busiest first, then by group_id. The
        record that stays of a deleted one may be among them."""

    async def group_sizes(self, first: str, end: str, limit: int) -> list[GroupSize]:
        """The first `limit` of these groups and of those that are paused, from `first` on and before `end`,
        by code points. What is read grows with what they hold, and is indexes alone."""

    async def put_ontology(self, group_id: str, yaml: str | None) -> None:
        """Keep the group's ontology, also of a group that does not exist yet; None: it has none of its own.
        Its number (QueuedItem.ontology) grows with every put and with delete_group, which removes it."""

    async def ontology(self, group_id: str) -> str | None:
        """The group's own ontology as it was put."""

    async def close(self) -> None:
        """Finish running writes, release files and connections."""


class Store(
    IntakeStore,
    QueueStore,
    GraphStore,
    CandidateStore,
    HistoryStore,
    CommunityStore,
    SearchStore,
    ColdSearchStore,
    ProofStore,
    AdminStore,
    ErasureStore,
    DocumentStore,
    FillStore,
    ModeStore,
    ConsistencyStore,
    Protocol,
):
    """All that a service works with."""


class WholeStore(Store, TransferStore, Protocol):
    """And what moves groups between stores."""
