"""CROSS_ENCODER: a model rates the first of the fused order, reading query and text together (spec 003)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from kgsvc.domain.errors import ModelOutputInvalid, StepError
from kgsvc.llm.protocol import CrossEncoder
from kgsvc.retrieval.fusion import Key
from kgsvc.retrieval.plans import Reason
from kgsvc.retrieval.settings import SearchSettings

_log = logging.getLogger("kgsvc.retrieval")
_BEST = 100
Ranking = list[tuple[Key, float]]  # best first


class CrossEncoding:
    """Asks a model, under a deadline; what goes wrong leaves the order as it was, and is told."""

    def __init__(self, model: CrossEncoder | None, settings: SearchSettings) -> None:
        self._model = model
        self._settings = settings

    async def reranked(
        self,
        query: str,
        group_id: str,
        ranked: Ranking,
        texts: Mapping[Key, str],
        left_s: float | None = None,
    ) -> tuple[Ranking, Reason | None]:
        """`ranked` by the model's scores, from 0 to 1, or as it was and why.

        `texts` are of the first of `ranked`; what has none comes behind, in its order, with 0. Equals keep
        their order. The model has half of `left_s` at most: the answer without it must come in time, too.
        """
        if self._model is None:
            return ranked, Reason.NO_MODEL
        if not texts:
            return ranked, None
        try:
            async with asyncio.timeout(_patience_s(self._settings.rerank_timeout_s, left_s)):
                rated = await self._model.rate(query, list(texts.values()), group_id)
        except TimeoutError:
            return ranked, _told(Reason.TIMEOUT)
        except ModelOutputInvalid:
            return ranked, _told(Reason.ANSWER_REJECTED)
        except StepError:
            return ranked, _told(Reason.MODEL_FAILED)
        return _ordered(ranked, dict(zip(texts, rated.scores, strict=True))), None


def _patience_s(most_s: float, left_s: float | None) -> float:
    return most_s if left_s is None else min(most_s, max(0.0, left_s) / 2)


def _ordered(ranked: Ranking, scores: Mapping[Key, int]) -> Ranking:
    order = sorted(ranked, key=lambda entry: (entry[0] not in scores, -scores.get(entry[0], 0)))
    return [(key, scores.get(key, 0) / _BEST) for key, _ in order]


def _told(reason: Reason) -> Reason:
    _log.warning("not rated by the model, the fused order answers: %s", reason.value)
    return reason
