"""Tokens that models spend for calls which bring no item: answers, and the ratings of a cross-encoder.

As for an item (docs/security.md, quotas), some are set aside before the model is asked, and settled when it
has told what it spent. Where it does not tell, because the call is cancelled or fails, what was set aside
stays counted.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from kgsvc.access.quotas import QuotaSettings, allowances
from kgsvc.access.scopes import ANYBODY, current_caller
from kgsvc.domain.limits import Counted
from kgsvc.domain.model.graph import Usage
from kgsvc.models.protocol import Answerer, CrossEncoder, Question, Rated, Written
from kgsvc.runtime import Clock
from kgsvc.stores.intake_protocol import IntakeStore


@dataclass(slots=True)
class _Spent:
    tokens: int

    def told(self, usage: Usage) -> None:
        """What the model says it spent; one that says nothing spent what was set aside."""
        self.tokens = usage.prompt_tokens + usage.completion_tokens or self.tokens


class Spending:
    """What the caller of the running call may spend."""

    def __init__(self, store: IntakeStore, quotas: QuotaSettings, clock: Clock) -> None:
        self._store = store
        self._quotas = quotas
        self._clock = clock

    @asynccontextmanager
    async def reserved(self, group_id: str, text: str) -> AsyncIterator[_Spent]:
        """For a call of a model with this text. Raises QuotaExceeded, StoreUnavailable."""
        wanted, now_ms = self._quotas.tokens_for(text), self._clock.now_ms()
        every = allowances(self._quotas, current_caller.get().principal, group_id)
        limits = [each for each in every if each.counted is Counted.MODEL_TOKENS]
        spent = _Spent(wanted)
        if limits:
            await self._store.spend(limits, wanted, now_ms)
        try:
            yield spent
        finally:
            if limits and spent.tokens != wanted:
                await self._store.spend(limits, spent.tokens - wanted, now_ms, within=False)

    async def spent(self, group_id: str, usage: Usage) -> None:
        """Count with a group's quota what was spent for it, beyond it too. Raises StoreUnavailable."""
        tokens = usage.prompt_tokens + usage.completion_tokens
        every = allowances(self._quotas, ANYBODY, group_id)
        limits = [each for each in every if each.counted is Counted.MODEL_TOKENS]
        if limits and tokens:
            await self._store.spend(limits, tokens, self._clock.now_ms(), within=False)


class ChargedAnswerer(Answerer):
    """An answerer whose callers have quotas."""

    def __init__(self, answerer: Answerer, spending: Spending) -> None:
        self._answerer = answerer
        self._spending = spending

    async def answer(self, question: Question) -> AsyncGenerator[str | Written, None]:
        """See Answerer. Raises QuotaExceeded too."""
        text = question.text + "".join(question.lines)
        async with (
            self._spending.reserved(question.group_id, text) as spent,
            aclosing(self._answerer.answer(question)) as pieces,
        ):
            async for piece in pieces:
                if isinstance(piece, Written):
                    spent.told(piece.usage)
                yield piece

    async def close(self) -> None:
        """See Model."""
        await self._answerer.close()


class ChargedEncoder(CrossEncoder):
    """A cross-encoder whose callers have quotas."""

    def __init__(self, encoder: CrossEncoder, spending: Spending) -> None:
        self._encoder = encoder
        self._spending = spending

    async def rate(self, query: str, texts: Sequence[str], group_id: str = "") -> Rated:
        """See CrossEncoder. Raises QuotaExceeded too."""
        async with self._spending.reserved(group_id, query + "".join(texts)) as spent:
            rated = await self._encoder.rate(query, texts, group_id)
            spent.told(rated.usage)
            return rated

    async def close(self) -> None:
        """See Model."""
        await self._encoder.close()
