"""How well SearchFacts finds the episodes that hold an answer: recall@k over questions with evidence.

    python -m bench.retrieval_dev DATASET.json [--facts messages|offline] [--embedder none|offline] [-k 10]

The data set is {conversations: [{group_id, episodes: [{id, speaker, timestamp, text}]}], queries:
[{group_id, question, category, evidence_ids}]}. Recall is the share of a question's evidence among the first
k distinct episodes behind the facts found, in their order; questions without evidence are left out.
`messages` makes one fact of each episode, as if extraction had kept every word; `offline` extracts by the
rules that a server without a model uses.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgsvc.domain.clock import SystemClock
from kgsvc.domain.delta import GroupHead, NameView, SlotView
from kgsvc.domain.entities import BatchItem, resolve
from kgsvc.domain.extraction import ExtractionRequest
from kgsvc.domain.identity import mint
from kgsvc.domain.model import Episode, Fact, RoleType, Source
from kgsvc.domain.plan import plan, statements_of
from kgsvc.ingestion.intake import message_body
from kgsvc.llm.offline.embedder import HashingEmbedder
from kgsvc.llm.offline.extractor import OfflineExtractor
from kgsvc.llm.protocol import Embedder
from kgsvc.retrieval.search import Hit, SearchFacts
from kgsvc.retrieval.settings import SearchSettings
from kgsvc.stores.protocol import Changes, IndexedFact

_PREVIOUS = 10  # earlier episodes an extractor sees
_DOCUMENT = "document"  # the speaker of episodes that nobody spoke


class Shelf:
    """A SearchStore of groups that never change."""

    def __init__(self) -> None:
        self._groups: dict[str, tuple[IndexedFact, ...]] = {}

    def put(self, group_id: str, facts: Iterable[IndexedFact]) -> None:
        """The whole content of a group."""
        self._groups[group_id] = tuple(facts)

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """See SearchStore."""
        return {group_id: GroupHead(group_id, rev=1) for group_id in group_ids if group_id in self._groups}

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        """See SearchStore; one page, whatever the limit."""
        return Changes(GroupHead(group_id, rev=1), self._groups[group_id], (), upto_rev=1)


def episodes_of(conversation: dict[str, Any]) -> list[Episode]:
    """A conversation's episodes: messages with a speaker, or texts."""
    return [_episode(conversation["group_id"], entry) for entry in conversation["episodes"]]


def _episode(group_id: str, entry: dict[str, Any]) -> Episode:
    moment = datetime.fromisoformat(entry["timestamp"]).replace(tzinfo=UTC)
    at_ms = int(moment.timestamp() * 1_000)
    text, speaker = entry["text"], entry["speaker"]
    if speaker == _DOCUMENT:
        return Episode(entry["id"], group_id, text, Source.TEXT, at_ms, at_ms)
    body = message_body(RoleType.USER, speaker, text)
    return Episode(
        entry["id"], group_id, body, Source.MESSAGE, at_ms, at_ms, role_type=RoleType.USER, role=speaker
    )


def facts_of_messages(episodes: list[Episode]) -> list[Fact]:
    """One fact an episode, its text the body, its source the speaker."""
    return [
        Fact(
            uuid=mint("fact", e.group_id, e.uuid),
            group_id=e.group_id,
            name="SAID",
            fact=e.body,
            source_uuid=e.role or "",
            target_uuid="",
            source_name=e.role or "",
            target_name="",
            created_ms=e.created_ms,
            reference_ms=e.reference_ms,
            slot="",
            fact_key="",
            episodes=(e.uuid,),
        )
        for e in episodes
    ]


async def facts_by_rules(episodes: list[Episode]) -> list[Fact]:
    """What ingestion without a model writes for these episodes."""
    requests = [ExtractionRequest(e, episodes[max(0, i - _PREVIOUS) : i]) for i, e in enumerate(episodes)]
    items = []
    for episode, result in zip(episodes, await OfflineExtractor().extract(requests), strict=True):
        if isinstance(result, Exception):
            raise result
        items.append(BatchItem(episode, result.extraction, episode.created_ms))
    group_id, now_ms = episodes[0].group_id, SystemClock().now_ms()
    resolved = resolve(NameView(GroupHead(group_id), {}), group_id, items, now_ms)
    return list(plan(group_id, items, resolved, statements_of(resolved, items), SlotView(), now_ms).facts)


async def shelve(dataset: dict[str, Any], facts_from: str, embedder: Embedder | None) -> Shelf:
    """All conversations as groups of facts."""
    shelf = Shelf()
    for conversation in dataset["conversations"]:
        episodes = episodes_of(conversation)
        facts = facts_of_messages(episodes) if facts_from == "messages" else await facts_by_rules(episodes)
        shelf.put(conversation["group_id"], await _indexed(facts, embedder))
        print(f"{conversation['group_id']}: {len(episodes)} episodes, {len(facts)} facts")
    return shelf


async def _indexed(facts: list[Fact], embedder: Embedder | None) -> list[IndexedFact]:
    if embedder is None:
        return [IndexedFact(fact) for fact in facts]
    vectors, _ = await embedder.embed([fact.fact for fact in facts])
    rows = zip(facts, vectors, strict=True)
    return [IndexedFact(fact, embedder.space, row.astype("<f4").tobytes()) for fact, row in rows]


def recall(hits: list[Hit], evidence: Collection[str], k: int) -> float:
    """The share of `evidence` among the first `k` distinct episodes behind the hits."""
    seen = list(dict.fromkeys(episode for hit in hits for episode in hit.fact.episodes))
    return len(set(evidence) & set(seen[:k])) / len(set(evidence))


async def measure(dataset: dict[str, Any], search: SearchFacts, k: int) -> None:
    """Ask every question; print recall by category, in all, and how long a search took."""
    by_category: dict[str, list[float]] = defaultdict(list)
    times = []
    for query in filter(lambda query: query["evidence_ids"], dataset["queries"]):
        started = time.perf_counter()
        hits = await search.search([query["group_id"]], query["question"], 10 * k)
        times.append((time.perf_counter() - started) * 1_000)
        by_category[query["category"]].append(recall(hits, query["evidence_ids"], k))
    for category, found in sorted(by_category.items()):
        print(f"{category:>20}: {100 * sum(found) / len(found):5.1f}  ({len(found)} questions)")
    overall = [value for found in by_category.values() for value in found]
    print(f"{'recall@' + str(k):>20}: {100 * sum(overall) / len(overall):5.1f}")
    print(f"{'search p50':>20}: {sorted(times)[len(times) // 2]:5.2f} ms")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--facts", choices=["messages", "offline"], default="offline")
    parser.add_argument("--embedder", choices=["none", "offline"], default="offline")
    parser.add_argument("-k", type=int, default=10)
    options = parser.parse_args()
    dataset = json.loads(options.dataset.read_text())
    embedder = HashingEmbedder() if options.embedder == "offline" else None
    shelf = await shelve(dataset, options.facts, embedder)
    await measure(dataset, SearchFacts(shelf, embedder, SearchSettings(), SystemClock()), options.k)


if __name__ == "__main__":
    asyncio.run(main())
