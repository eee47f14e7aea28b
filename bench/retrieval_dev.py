"""How well searches find the episodes that hold an answer: recall@k over questions with evidence.

    python -m bench.retrieval_dev DATASET.json [DATASET.json ...] [--recipes search_facts default episodes]
        [--embedders none offline local] [--model FOLDER] [--facts messages|offline] [-k 10]

A data set is {conversations: [{group_id, episodes: [{id, speaker, timestamp, text}]}], queries:
[{group_id, question, category, evidence_ids}]}. Recall is the share of a question's evidence among the first
k distinct episodes behind what is found, in its order; questions without evidence are left out.

Recipes: `search_facts` is SearchFacts; `default` and the others are SearchGraph's, of which those that find
facts can be measured (of several scopes the best of each come first, then the second ones, and so on; those
that a model rates come in their fused order); `episodes` is its default for the scope EPISODES; `all` is all
of these. `offline` extracts and embeds by the rules that a server without a model uses, `local` embeds by the
model in FOLDER (the extra kgsvc[local]); `messages` makes one fact of each episode, as if extraction had kept
every word.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from bench.retrieval_shelf import Shelf, by_rules, episodes_of, whole_messages
from kgsvc.domain.model.graph import Fact
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.models.protocol import Embedder
from kgsvc.runtime import SystemClock
from kgsvc.search.engine import Engine, EngineStore
from kgsvc.search.plans import RECIPES, Recipe, Scope, ScopePlan, default_plan
from kgsvc.search.results import GraphQuery, Item
from kgsvc.search.settings import SearchSettings

SEARCH_FACTS = "search_facts"
EPISODES = "episodes"
ALL = "all"
PLANS: dict[str, tuple[ScopePlan, ...]] = {EPISODES: (default_plan(Scope.EPISODES),)} | {
    recipe.value: plans for recipe, plans in RECIPES.items() if Scope.FACTS in [p.scope for p in plans]
}
RESULTS = 100  # asked for: as many as a call may

Find = Callable[[str, str], Awaitable[Iterable[str]]]  # (group, question) -> episodes, best first


async def shelve(dataset: dict[str, Any], facts_from: str, embedder: Embedder | None) -> Shelf:
    """All conversations as groups."""
    shelf = Shelf()
    for conversation in dataset["conversations"]:
        episodes = episodes_of(conversation)
        delta = whole_messages(episodes) if facts_from == "messages" else await by_rules(episodes)
        await shelf.put(episodes, delta, embedder)
    return shelf


def finder(recipe: str, shelf: Shelf, embedder: Embedder | None) -> Find:
    """A search by a recipe."""
    settings, clock = SearchSettings(), SystemClock()
    engine = Engine(cast(EngineStore, shelf), embedder, settings, clock)

    async def search_facts(group_id: str, question: str) -> Iterable[str]:
        return _sources(hit.fact for hit in await engine.facts([group_id], question, RESULTS))

    async def search_graph(group_id: str, question: str) -> Iterable[str]:
        answers = await engine.search(GraphQuery((group_id,), question, PLANS[recipe], RESULTS))
        in_turns = zip_longest(*(answer.hits for answer in answers))
        return _sources(hit.item for turn in in_turns for hit in turn if hit is not None)

    return search_facts if recipe == SEARCH_FACTS else search_graph


def _sources(found: Iterable[Item]) -> list[str]:
    """The distinct episodes behind what was found."""
    uuids: dict[str, None] = {}
    for item in found:
        if isinstance(item, Fact):
            uuids.update(dict.fromkeys(item.episodes))
        elif hasattr(item, "episode"):
            uuids[item.episode.uuid] = None
    return list(uuids)


def recall(found: Iterable[str], evidence: Collection[str], k: int) -> float:
    """The share of `evidence` among the first `k` episodes."""
    return len(set(evidence) & set(list(found)[:k])) / len(set(evidence))


async def measure(dataset: dict[str, Any], find: Find, k: int) -> None:
    """Ask every question; print recall by category, in all, and how long a search took."""
    by_category: dict[str, list[float]] = defaultdict(list)
    times = []
    for query in filter(lambda query: query["evidence_ids"], dataset["queries"]):
        started = time.perf_counter()
        found = await find(query["group_id"], query["question"])
        times.append((time.perf_counter() - started) * 1_000)
        by_category[query["category"]].append(recall(found, query["evidence_ids"], k))
    overall = [value for values in by_category.values() for value in values]
    shares = (f"{name} {100 * sum(v) / len(v):.1f}" for name, v in sorted(by_category.items()))
    p50 = sorted(times)[len(times) // 2]
    print(f"    recall@{k} {100 * sum(overall) / len(overall):.1f}, p50 {p50:.1f} ms ({', '.join(shares)})")


def embedder_of(name: str, model: Path | None) -> Embedder | None:
    """An embedder by name."""
    if name == "local":
        from kgsvc.models.local import LocalEmbedder

        if model is None:
            raise SystemExit("local needs --model FOLDER")
        return LocalEmbedder(model)
    return HashingEmbedder() if name == "offline" else None


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", type=Path, nargs="+")
    recipes = [SEARCH_FACTS, *PLANS]
    parser.add_argument(
        "--recipes", choices=[ALL, *recipes], nargs="+", default=[SEARCH_FACTS, Recipe.DEFAULT, EPISODES]
    )
    parser.add_argument(
        "--embedders", choices=["none", "offline", "local"], nargs="+", default=["none", "offline"]
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--facts", choices=["messages", "offline"], default="offline")
    parser.add_argument("-k", type=int, default=10)
    options = parser.parse_args()
    for path in options.datasets:
        dataset = json.loads(path.read_text())
        for name in options.embedders:
            embedder = embedder_of(name, options.model)
            shelf = await shelve(dataset, options.facts, embedder)
            for recipe in recipes if ALL in options.recipes else options.recipes:
                print(f"{path.stem}, {recipe}, embedder {name}:")
                await measure(dataset, finder(recipe, shelf, embedder), options.k)


if __name__ == "__main__":
    asyncio.run(main())
