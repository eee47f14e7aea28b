"""The words of results that a model is shown when it rates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgsvc.domain.communities import Community
from kgsvc.domain.model import Fact
from kgsvc.retrieval.episode_index import FoundEpisode
from kgsvc.retrieval.fusion import Key
from kgsvc.retrieval.graph_results import Item

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
