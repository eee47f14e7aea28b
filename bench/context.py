"""How much of the evidence a context keeps: what `include_context` puts before a model, beside BM25 turns.

    python -m bench.context DATASET.json [DATASET.json ...] [--embedder none|offline|local] [--model FOLDER]
        [--tokens 500 2000] [--every N] [--show N]

Data sets are those of bench.retrieval_dev, or {name, episodes, gold: {questions}} with `must_contain` in each
question. No model reads the contexts. A question's evidence is kept as far as its episodes' words that the
answer needs stand in the context, verbatim: those of the gold answer that the episode has, or half of the
episode where it has none. `turns` are the best episodes by BM25 alone, each whole, with its time, until the
same budget is spent; the last one is cut.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from bench.retrieval_dev import embedder_of, shelve
from bench.retrieval_shelf import Shelf
from kgsvc.domain.model.graph import Episode
from kgsvc.domain.text import tokens
from kgsvc.models.protocol import Embedder
from kgsvc.runtime import SystemClock
from kgsvc.search.context.composing import TOKEN_CHARS
from kgsvc.search.context.lines import told
from kgsvc.search.engine import Engine, EngineStore
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.plans import RECIPES, Method, Recipe, Scope, ScopePlan
from kgsvc.search.query import FUNCTION_WORDS
from kgsvc.search.results import GraphQuery
from kgsvc.search.settings import SearchSettings

_TURNS = (ScopePlan(Scope.EPISODES, (Method.BM25,)),)
_RESULTS = 10  # of the default recipe, as when a caller does not say
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")


def read(path: Path) -> dict[str, Any]:
    """A data set in the form of bench.retrieval_dev; answers as a list of words of which all are needed."""
    given = json.loads(path.read_text())
    if "gold" not in given:
        for query in given["queries"]:
            query["needed"] = [[str(query["answer"])]]
        return cast(dict[str, Any], given)
    queries = [
        {"group_id": given["name"], "category": "all", "needed": each["must_contain"]} | each
        for each in given["gold"]["questions"]
    ]
    conversations = [{"group_id": given["name"], "episodes": given["episodes"]}]
    return {"conversations": conversations, "queries": queries}


class Asker:
    """Makes contexts out of a shelf."""

    def __init__(self, shelf: Shelf, embedder: Embedder | None) -> None:
        settings, clock = SearchSettings(), SystemClock()
        self._engine = Engine(cast(EngineStore, shelf), embedder, settings, clock)

    async def ours(self, group_id: str, question: str, chars: int) -> str:
        """What `include_context` gives."""
        query = GraphQuery((group_id,), question, RECIPES[Recipe.DEFAULT], _RESULTS)
        return told(await self._engine.context(await self._engine.search_for_context(query), chars))

    async def turns(self, group_id: str, question: str, chars: int) -> str:
        """The best episodes by BM25."""
        (answer,) = await self._engine.search(GraphQuery((group_id,), question, _TURNS, 200))
        episodes = (hit.item.episode for hit in answer.hits if isinstance(hit.item, FoundEpisode))
        return "\n".join(map(_turn, episodes))[:chars]


def _turn(episode: Episode) -> str:
    moment = datetime.fromtimestamp(episode.reference_ms / 1_000, UTC)
    return f"{moment:%Y-%m-%d %H:%M} {_flat(episode.body)}"


def kept(text: str, needed: Iterable[Iterable[str]], context: str) -> bool:
    """Whether what an answer needs of an episode's text stands in the context."""
    told = [each for each in map(_flat, _SENTENCE.split(text)) if each and each in context]
    here, there = _content(text), _content(" ".join(told))
    wanted = [word for ways in needed for way in ways for word in _content(way) if word in here]
    if not wanted:
        return sum(map(len, told)) * 2 >= len(text)
    return set(wanted) <= there


def answered(needed: Iterable[Sequence[str]], context: str) -> bool:
    """Whether the words of the answer stand in the context."""
    words = _content(context)
    return all(any(_content(way) <= words for way in ways) for ways in needed)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _content(text: str) -> set[str]:
    return set(tokens(text)) - FUNCTION_WORDS


async def measure(
    dataset: dict[str, Any], asker: Asker, sizes: Sequence[int], every: int = 1, show: int = 0
) -> None:
    """Ask questions with evidence; print the share of it that is kept, and of answers whose words are."""
    texts = {(c["group_id"], e["id"]): e["text"] for c in dataset["conversations"] for e in c["episodes"]}
    asked = [each for each in dataset["queries"] if each["evidence_ids"]][::every]
    sums: dict[tuple[str, int], list[tuple[float, bool, int]]] = defaultdict(list)
    for number, query in enumerate(asked):
        group_id, question = query["group_id"], query["question"]
        for size in sizes:
            for name, make in (("ours", asker.ours), ("turns", asker.turns)):
                context = await make(group_id, question, size * TOKEN_CHARS)
                flat = _flat(context)
                evidence = [texts[group_id, each] for each in query["evidence_ids"]]
                share = sum(kept(text, query["needed"], flat) for text in evidence) / len(evidence)
                sums[name, size].append((share, answered(query["needed"], flat), len(context)))
                if name == "ours" and number < show:
                    print(
                        f"--- {size} tokens, evidence {share:.2f}: {question} {query['needed']}\n{context}\n"
                    )
    for (name, size), rows in sums.items():
        evidence, words, chars = (sum(column) / len(rows) for column in zip(*rows, strict=True))
        says = f"evidence {100 * evidence:.1f}, words of answers {100 * words:.1f}"
        print(f"    {size} tokens, {name}: {says}, {chars / TOKEN_CHARS:.0f} tokens, {len(rows)} questions")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", type=Path, nargs="+")
    parser.add_argument("--embedder", choices=["none", "offline", "local"], default="offline")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--tokens", type=int, nargs="+", default=[500, 2_000])
    parser.add_argument("--every", type=int, default=1, help="ask every so manieth question")
    parser.add_argument("--show", type=int, default=0)
    options = parser.parse_args()
    embedder = embedder_of(options.embedder, options.model)
    for path in options.datasets:
        dataset = read(path)
        shelf = await shelve(dataset, "offline", embedder)
        print(f"{path.stem}, embedder {options.embedder}:")
        await measure(dataset, Asker(shelf, embedder), options.tokens, options.every, options.show)


if __name__ == "__main__":
    asyncio.run(main())
