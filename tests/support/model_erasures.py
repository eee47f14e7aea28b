"""Erasures of the model store: it has no files."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kgsvc.domain.model.delta import Erased, GroupHead
from kgsvc.domain.model.erasures import Erasure
from kgsvc.stores.search_protocol import PROOFS


class ModelErasures:
    """ErasureStore."""

    def __init__(self) -> None:
        super().__init__()
        self._erasures: dict[tuple[str, str], Erasure] = {}
        self._so_far: dict[tuple[str, str], Counter[str]] = {}
        self._proofs: dict[str, list[str]] = {}

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """See SearchStore."""
        raise NotImplementedError

    async def begin_erasures(self, erasures: Sequence[Erasure]) -> None:
        for part in erasures:
            self._erasures.setdefault((part.erasure_id, part.group_id), part)

    async def erasure(self, erasure_id: str) -> list[Erasure]:
        return [part for key, part in sorted(self._erasures.items()) if key[0] == erasure_id]

    async def erasures(self, open_limit: int, since_ms: int | None = None) -> list[Erasure]:
        parts = sorted(
            self._erasures.values(), key=lambda part: (part.asked_ms, part.erasure_id, part.group_id)
        )
        waiting = [part for part in parts if part.completed_ms is None][:open_limit]
        return [
            part
            for part in parts
            if part in waiting
            or (since_ms is not None and part.asked_ms >= since_ms and part.removed is not None)
        ]

    async def removed(self, erasure_id: str, group_id: str, counts: Mapping[str, int]) -> None:
        self.note_erased(group_id, Erased(erasure_id, counts))

    def note_erased(self, group_id: str, erased: Erased) -> None:
        """What a change removes, added to what former ones did."""
        self._proofs.pop(group_id, None)
        key = (erased.erasure_id, group_id)
        part = self._erasures.get(key)
        if part is None or part.removed is not None:
            return
        counts = self._so_far[key] = Counter(self._so_far.get(key, {}))
        counts.update(erased.removed)
        if erased.over:
            self._erasures[key] = replace(part, removed=dict(counts), uuid="")

    async def note_proof(self, head: GroupHead, proof: str) -> bool:
        now = (await self.heads([head.group_id])).get(head.group_id, GroupHead(head.group_id))
        if (now.epoch, now.rev) != (head.epoch, head.rev):
            return False
        self._proofs[head.group_id] = [*self._proofs.get(head.group_id, ()), proof][-PROOFS:]
        return True

    async def proven(self, group_id: str, proof: str) -> bool:
        return proof in self._proofs.get(group_id, ())

    async def free_erased(self, now_ms: int) -> int:
        freed = [key for key, p in self._erasures.items() if p.removed is not None and p.completed_ms is None]
        for key in freed:
            self._erasures[key] = replace(self._erasures[key], completed_ms=now_ms)
        return len(freed)
