"""What a seed's operations share: randomness, time, groups, and the twins."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from tests.support.model_rows import Group, Item
from tests.support.model_store import ModelStore
from tests.support.stateful.twins import Comparable, Side, Twins
from tests.support.stateful.words import TinyEmbedder

T = TypeVar("T")
START = 1_750_000_000_000


@dataclass
class World:
    """The state of one run. All choices come from `rng` and from the model alone."""

    rng: random.Random
    model: ModelStore
    twins: Twins
    groups: tuple[str, ...]
    now_ms: int = START
    receipts: list[str] = field(default_factory=list)
    embedder: TinyEmbedder = field(default_factory=TinyEmbedder)
    _count: int = 0

    def tick(self) -> int:
        """Some time passes."""
        self.now_ms += self.rng.randrange(1, 6_000)
        return self.now_ms

    def fresh(self, kind: str) -> str:
        """A name that was not used before in this run."""
        self._count += 1
        return f"{kind}{self._count}"

    def group(self) -> Group:
        """A random group, as the model holds it."""
        return self.model.peek(self.rng.choice(self.groups))

    def busy_group(self) -> Group:
        """A random group with an unfinished item, or any."""
        busy = [g for g in map(self.model.peek, self.groups) if self.items(g, unfinished=True)]
        return self.rng.choice(busy) if busy else self.group()

    def some(self, values: Sequence[T], most: int) -> list[T]:
        """At most `most` of the values, without repetition."""
        return self.rng.sample(values, min(len(values), self.rng.randrange(most + 1)))

    def items(self, group: Group, *, unfinished: bool = False) -> list[Item]:
        """The group's items in order of acceptance."""
        return [item for item in group.items.values() if item.unfinished or not unfinished]

    def lease_place(self, group_id: str) -> int | None:
        """Mostly the latest lease of the group, at times a stale one, None without any."""
        count = len(self.twins.model.leases.get(group_id, ()))
        if not count:
            return None
        return count - 1 if self.rng.random() < 0.9 else self.rng.randrange(count)

    async def write(
        self, what: str, delta: GraphDelta, *, place: int | None = None, rev: int = 0, epoch: int = 0
    ) -> Comparable:
        """Apply a delta on both sides under their own heads, moved by `rev` and `epoch`, and their leases."""
        group_id = delta.group_id
        releases = place is not None and self.rng.random() < 0.2

        async def call(side: Side) -> Comparable:
            head = await side.head(group_id)
            token = None if place is None else side.leases[group_id][place].token
            after = await side.store.apply(delta, Guard(head.rev + rev, head.epoch + epoch, token, releases))
            side.marks[group_id].append(after.rev)
            return side.relative(after)

        return await self.twins.agree(f"apply ({what})", call)

    def system_ms(self, head: GroupHead) -> int:
        """The system time of the next change (docs/design/time.md)."""
        return max(self.now_ms, head.last_ms + 1)
