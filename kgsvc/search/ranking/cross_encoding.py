"""The words of results that a model is shown when it rates them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from kgsvc.domain.errors import ModelOutputInvalid, StepError
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Fact
from kgsvc.models.protocol import CrossEncoder
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.index.topk import Key
from kgsvc.search.plans import Reason
from kgsvc.search.results import Item
from kgsvc.search.settings import SearchSettings

CHARS = 1_000  # of one text; of a longer one the beginning is shown


def passage(item: Item) -> str:
    """A fact's sentence, name and summary of an entity or a community, the beginning of an episode."""
    if isinstance(item, Fact):
        text = item.fact
    elif isinstance(item, FoundEpisode):
        text = item.episode.body
    elif isinstance(item, Community):
        text = _named(item.name, item.summary)
    else:
        text = _named(item.entity.name, item.entity.summary)
    return text if len(text) <= CHARS else f"{text[:CHARS]}…"


def _named(name: str, summary: str) -> str:
    return f"{name}: {summary}" if summary else name


def fitting(keys: Sequence[Key], shown: Callable[[Key], Item | None], limit: int) -> dict[Key, str]:
    """The words of the first of `keys` that take at most `limit` bytes together, of one in any case. What
    is there no more has none."""
    found: dict[Key, str] = {}
    for key in keys:
        item = shown(key)
        if item is None:
            continue
        text = passage(item)
        limit -= len(text.encode())
        if found and limit < 0:
            break
        found[key] = text
    return found


_log = logging.getLogger("kgsvc.search")
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
    _log.warning("the model did not rate the candidates, their order by RRF is returned: %s", reason.value)
    return reason
