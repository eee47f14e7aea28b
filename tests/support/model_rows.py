"""What the model store holds: plain objects in plain dicts."""

from dataclasses import dataclass, field

from kgsvc.domain.errors import Conflict, Violation
from kgsvc.domain.model.delta import FactTombstone, GroupHead, MergeRecord
from kgsvc.domain.model.graph import FREE, TOLD, Entity, Episode, Fact, Mention, Usage
from kgsvc.domain.model.items import (
    CRASH,
    TERMINAL,
    ItemState,
    ItemStatus,
    ItemWarning,
    QueuedItem,
    Step,
    Transition,
)
from kgsvc.stores.protocol import EpisodeCut

GROUP_DELETED = "group_deleted"
UNMARKING = TERMINAL | {ItemState.ACCEPTED} | {step.failed for step in Step}


@dataclass(eq=False)
class Item:
    """An accepted item with its episode. Receipts hold the object itself, so it outlives its deletion."""

    episode: Episode
    receipt_id: str
    accepted_ms: int
    updated_ms: int
    state: ItemState = ItemState.ACCEPTED
    attempts: dict[str, int] = field(default_factory=dict)
    step: Step | None = None
    reason: str | None = None
    next_ms: int = 0
    stage: bytes | None = None
    started: bool = False
    suspect: bool = False
    usage: Usage = FREE
    warnings: tuple[ItemWarning, ...] = ()
    previous: tuple[str, ...] = ()
    request_id: str = ""
    trace: str = ""

    @property
    def unfinished(self) -> bool:
        return self.state not in TERMINAL

    @property
    def order(self) -> tuple[int, str]:
        return self.episode.reference_ms, self.episode.uuid

    def due(self, now_ms: int) -> bool:
        return self.unfinished and self.next_ms <= now_ms

    def status(self, *, duplicate: bool = False) -> ItemStatus:
        return ItemStatus(
            group_id=self.episode.group_id,
            uuid=self.episode.uuid,
            state=self.state,
            receipt_id=self.receipt_id,
            updated_ms=self.updated_ms,
            name=self.episode.name,
            attempts=0 if self.step is None else self.attempts.get(self.step, 0),
            step=self.step,
            reason=self.reason,
            duplicate=duplicate,
            usage=self.usage,
            warnings=self.warnings,
        )

    def queued(self) -> QueuedItem:
        attempts = dict(self.attempts)
        return QueuedItem(
            self.episode,
            self.state,
            self.accepted_ms,
            attempts,
            self.stage,
            self.suspect,
            self.previous,
            request_id=self.request_id,
            trace=self.trace,
        )

    def begin(self) -> QueuedItem:
        self.started = True
        if self.suspect:
            self.attempts[CRASH] = self.attempts.get(CRASH, 0) + 1
        return self.queued()

    def give_back(self) -> None:
        if self.started and self.suspect:
            self.attempts[CRASH] -= 1
        self.attempts = {name: count for name, count in self.attempts.items() if count}
        self.started = False

    def move(self, to: Transition) -> None:
        self.state, self.updated_ms, self.next_ms, self.reason = to.state, to.now_ms, to.next_ms, to.reason
        self.suspect = False
        self.usage += to.usage
        if to.warnings is not None:
            self.warnings = to.warnings
        if to.step is not None:
            self.step = to.step
            self.attempts[to.step.value] = to.attempts
        if not to.keep_stage:
            self.stage = to.stage
        if to.state in UNMARKING:
            self.started = False

    def revive(self, now_ms: int) -> None:
        self.attempts = {}
        self.step = None
        self.suspect = False
        self.move(Transition(self.episode.uuid, ItemState.ACCEPTED, now_ms))


@dataclass
class Answer:
    """What an idempotency key stands for."""

    input_hash: str
    until_ms: int
    receipt_id: str | None = None
    items: tuple[Item, ...] = ()


@dataclass
class ReceiptRow:
    """The items of one call in its order, each with whether it was a duplicate then."""

    group_id: str
    created_ms: int
    entries: tuple[tuple[Item, bool], ...]


@dataclass
class Group:
    """A group's record and content."""

    group_id: str
    rev: int = 0
    epoch: int = 0
    last_ms: int = 0
    token: int = 0
    owner_id: str | None = None
    renewals: int = 0
    served_ms: int = 0
    ontology: str | None = None
    ontology_rev: int = 0
    paused_ms: int | None = None
    items: dict[str, Item] = field(default_factory=dict)  # in order of acceptance
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    name_tokens: set[tuple[str, str]] = field(default_factory=set)  # (token, entity uuid)
    facts: dict[str, Fact] = field(default_factory=dict)
    fact_rev: dict[str, int] = field(default_factory=dict)
    tombstones: dict[str, FactTombstone] = field(default_factory=dict)
    removed_rev: dict[str, int] = field(default_factory=dict)
    mentions: dict[tuple[str, str], Mention] = field(default_factory=dict)
    episode_edges: dict[str, tuple[str, ...]] = field(default_factory=dict)
    merges: dict[str, MergeRecord] = field(default_factory=dict)
    vectors: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    passages: dict[str, tuple[str, bytes]] = field(default_factory=dict)  # of episodes
    vector_rev: dict[str, int] = field(default_factory=dict)
    text_rev: dict[tuple[str, str], int] = field(default_factory=dict)  # by kind and uuid, removed ones too
    found: set[str] = field(default_factory=set)  # episodes that searches find

    @property
    def head(self) -> GroupHead:
        return GroupHead(self.group_id, self.rev, self.epoch, self.last_ms)

    @property
    def held_token(self) -> int | None:
        return None if self.owner_id is None else self.token

    def give_up(self) -> None:
        self.owner_id = None
        for item in self.items.values():
            item.give_back()

    @property
    def episodes(self) -> list[Episode]:
        """By (reference_ms, uuid)."""
        return [item.episode for item in sorted(self.items.values(), key=lambda i: i.order)]

    def cut(self, limit: int, cut: EpisodeCut) -> list[Episode]:
        """The latest `limit` episodes, or the part of them that `cut` names."""
        told = [e for e in self.episodes if e.source in TOLD]
        upto = [e for e in told if cut.upto is None or (e.reference_ms, e.uuid) <= cut.upto]
        latest = upto[-limit:] if limit else []
        behind = [e for e in latest if cut.after is None or (e.reference_ms, e.uuid) > cut.after]
        found: list[Episode] = []
        size = 0
        for episode in behind:
            found.append(episode)
            size += len(episode.body.encode())
            if cut.max_bytes is not None and size > cut.max_bytes:
                break
        return found

    def known_answer(self, operation: str, key: str, input_hash: str, now_ms: int) -> Answer | None:
        answer = self.answers.get((operation, key))
        if answer is None or answer.until_ms <= now_ms:
            return None
        if answer.input_hash != input_hash:
            used = Violation("idempotency_key", "was used with other input")
            raise Conflict("the idempotency key was used with other input", (used,))
        return answer

    def movable(self, uuid: str, *, leased: bool) -> Item | None:
        """The item if it is unfinished and, to the lease's holder, started: only it can have done that."""
        item = self.items.get(uuid)
        return item if item is not None and item.unfinished and (item.started or not leased) else None

    def move(self, transitions: tuple[Transition, ...], *, leased: bool) -> None:
        for to in transitions:
            if (item := self.movable(to.uuid, leased=leased)) is not None:
                item.move(to)
