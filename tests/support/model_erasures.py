"""Erasures of the model store: it has no files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgsvc.domain.model.erasures import Erasure


class ModelErasures:
    """ErasureStore."""

    def __init__(self) -> None:
        super().__init__()
        self._erasures: dict[tuple[str, str], Erasure] = {}

    async def begin_erasures(self, erasures: Sequence[Erasure]) -> None:
        for part in erasures:
            self._erasures.setdefault((part.erasure_id, part.group_id), part)

    async def erasure(self, erasure_id: str) -> list[Erasure]:
        return [part for key, part in sorted(self._erasures.items()) if key[0] == erasure_id]

    async def open_erasures(self, limit: int) -> list[Erasure]:
        waiting = [part for part in self._erasures.values() if part.completed_ms is None]
        return sorted(waiting, key=lambda part: part.asked_ms)[:limit]

    async def erasures_since(self, asked_ms: int) -> list[Erasure]:
        return [p for p in self._erasures.values() if p.asked_ms >= asked_ms and p.removed is not None]

    async def removed(self, erasure_id: str, group_id: str, counts: Mapping[str, int]) -> None:
        part = self._erasures.get((erasure_id, group_id))
        if part is not None and part.removed is None:
            self._erasures[erasure_id, group_id] = replace(part, removed=dict(counts), uuid="")

    async def free_erased(self, now_ms: int) -> int:
        freed = [key for key, p in self._erasures.items() if p.removed is not None and p.completed_ms is None]
        for key in freed:
            self._erasures[key] = replace(self._erasures[key], completed_ms=now_ms)
        return len(freed)
