"""A scripted model that reads the planted corpus without a mistake, for Graphiti and for kgsvc alike.

It knows what is asked by the name of the schema that the answer must follow, and counts what each kind of
call costs. A token is counted as four characters, the same for both; schemas are counted apart, for servers
that put them before the prompt.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.planted import Corpus, Line, PlantedFact, Telling, Thing
from bench.planted_names import RELATIONS
from kgsvc.domain.facts import summary as rewriting
from kgsvc.models.prompts.summaries import ENTITIES_MARK
from tests.support.scripted_openai import Outcome, Request, answer, edge, node, resolutions, status, verdicts
from tests.support.scripted_openai.replies import as_content
from tests.support.scripted_openai.script import fenced_data

_CHARS_A_TOKEN = 4
_SUMMARY_CHARS = 500
_TYPES = {"person": "Person", "organisation": "Organization", "place": "Location", "project": "Project"}
_ENDED = "NO_LONGER_"
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """What one call cost, in tokens."""

    phase: str
    kind: str
    prompt: int
    schema: int
    completion: int


class Unread(AssertionError):
    """A request that nobody foresaw."""


class PerfectReader:
    """The script of a ScriptedOpenAI; `phase` names the run that its next calls belong to."""

    def __init__(self, corpus: Corpus) -> None:
        self.phase = ""
        self.calls: list[Call] = []
        self.surprises: list[str] = []
        self._corpus = corpus
        self._lines = {line.body: line for line in corpus.lines}
        self._kinds: dict[str, tuple[str, Callable[[Request], Answer]]] = {
            "ExtractedEntities": ("extract entities", self._graphiti_entities),
            "ExtractedEdges": ("extract facts", self._graphiti_facts),
            "NodeResolutions": ("resolve entities", self._graphiti_same),
            "EdgeDuplicate": ("resolve one fact", self._graphiti_duplicate),
            "SummarizedEntities": ("summarise entities", self._graphiti_summaries),
            "episode_extraction": ("extract", self._extraction),
            "resolutions": ("resolve a batch", self._resolutions),
            "entity_summaries": ("rewrite summaries", self._summaries),
        }

    def __call__(self, request: Request) -> Answer | Outcome | None:
        """The answer; its cost is noted. Embeddings are not answered here, what nobody foresaw is refused."""
        if request.endpoint != "chat":
            return None
        form = request.body.get("response_format", {}).get("json_schema", {})
        try:
            kind, reply = self._kinds[form.get("name", "")]
            said = reply(request)
        except (KeyError, ValueError, Unread) as error:
            self.surprises.append(f"{self.phase}: {form.get('name')}: {error!r}")
            return status(400)
        if request.is_repair:
            kind = f"{kind} (repair)"
        asked = sum(len(message["content"]) for message in request.body["messages"])
        schema = len(json.dumps(form.get("schema", {}), separators=(",", ":")))
        sizes = (asked, schema, len(as_content(said)))
        self.calls.append(Call(self.phase, kind, *(size // _CHARS_A_TOKEN for size in sizes)))
        return said

    # What both ask

    def _line(self, body: str) -> Line:
        return self._lines[body.strip()]

    def _thing(self, name: str) -> Thing:
        thing = self._corpus.thing(name)
        if thing is None:
            raise Unread(f"nobody is called {name!r}")
        return thing

    def _told(self, text: str) -> PlantedFact:
        fact = self._corpus.told(text)
        if fact is None:
            raise Unread(f"nobody said {text!r}")
        return fact

    # kgsvc

    def _extraction(self, request: Request) -> Answer:
        line = self._line(request.text)
        names = self._corpus.names(line)
        refs = {thing: f"n{number}" for number, thing in enumerate(names, 1)}
        nodes = [self._node(refs[thing], name, thing, line) for thing, name in names.items()]
        return answer(nodes, [self._edge(telling, refs) for telling in line.tellings])

    def _node(self, ref: str, name: str, thing: Thing, line: Line) -> dict[str, Any]:
        return node(ref, name, type=_TYPES[thing.kind], summary=next(iter(self._about(thing, line)), ""))

    def _about(self, thing: Thing, line: Line) -> list[str]:
        told = [(self._corpus.facts[telling.fact], telling.text) for telling in line.tellings]
        return [text for fact, text in told if thing in (fact.source, fact.target)]

    def _edge(self, telling: Telling, refs: Mapping[Thing, str]) -> dict[str, Any]:
        fact = self._corpus.facts[telling.fact]
        return edge(
            telling.name,
            telling.text,
            refs[fact.source],
            refs[fact.target],
            valid_at=telling.valid_at,
            kind=RELATIONS[fact.relation].kind,
            polarity="asserts" if fact.negates is None else "ends",
            keywords=telling.name.lower().split("_"),
        )

    def _resolutions(self, request: Request) -> Answer:
        asked = request.resolution
        if asked is None:
            raise Unread("a resolution without questions")
        known = {each["idx"]: each for each in asked.get("known_entities", [])}
        new = {
            each["id"]: each
            for each in (*asked.get("new_entities", []), *asked.get("other_new_entities", []))
        }
        facts = {each["idx"]: self._told(each["fact"]) for each in asked.get("known_facts", [])}
        return resolutions(
            {each["id"]: self._same(each, known, new) for each in asked.get("new_entities", [])},
            {each["id"]: self._compared(each, facts) for each in asked.get("new_facts", [])},
        )

    def _same(self, asked: Answer, known: Mapping[int, Answer], new: Mapping[int, Answer]) -> dict[str, Any]:
        thing = self._thing(asked["name"])
        entity = self._first(thing, {idx: known[idx] for idx in asked["candidates"]})
        peer = self._first(thing, {id: new[id] for id in asked["peers"]}) if entity is None else None
        found = {"same_as_known": entity, "same_as_new": peer, "full_name": None}
        names = [asked["name"], *([known[entity]["name"]] if entity is not None else [])]
        fullest = max(names, key=len)
        return found if fullest == asked["name"] else {**found, "full_name": fullest}

    def _first(self, thing: Thing, offered: Mapping[int, Answer]) -> int | None:
        return next((number for number, each in offered.items() if self._thing(each["name"]) is thing), None)

    def _compared(self, asked: Answer, known: Mapping[int, PlantedFact]) -> dict[str, Any]:
        fact = self._told(asked["fact"])
        same = [idx for idx in asked["compare_with"] if known[idx].id == fact.id]
        against = [idx for idx in asked["compare_with"] if self._corpus.conflict(fact, known[idx])]
        return verdicts(repeats=same[:1], replaced=against)

    def _summaries(self, request: Request) -> Answer:
        """The latest facts, as many as there is room for."""
        asked = fenced_data(request.body, ENTITIES_MARK)
        if asked is None:
            raise Unread("summaries of nothing")
        told = [(each["id"], " ".join(each["facts"])[-rewriting.TEXT :]) for each in asked["entities"]]
        return {"summaries": [{"id": id, "summary": text} for id, text in told]}

    # Graphiti 0.30

    def _graphiti_entities(self, request: Request) -> Answer:
        names = self._corpus.names(self._line(_between(request, "CURRENT MESSAGE")))
        found = [{"name": name, "entity_type_id": 0, "episode_indices": [0]} for name in names.values()]
        return {"extracted_entities": found}

    def _graphiti_facts(self, request: Request) -> Answer:
        line = self._line(_between(request, "CURRENT_MESSAGE"))
        names = self._corpus.names(line)
        return {"edges": [self._graphiti_edge(telling, names) for telling in line.tellings]}

    def _graphiti_edge(self, telling: Telling, names: Mapping[Thing, str]) -> dict[str, Any]:
        fact = self._corpus.facts[telling.fact]
        valid_at = telling.valid_at if "T" in telling.valid_at else f"{telling.valid_at}T00:00:00Z"
        return {
            "source_entity_name": names[fact.source],
            "target_entity_name": names[fact.target],
            "relation_type": telling.name if fact.negates is None else f"{_ENDED}{telling.name}",
            "fact": telling.text,
            "valid_at": valid_at,
            "invalid_at": None,
            "episode_indices": [0],
        }

    def _graphiti_same(self, request: Request) -> Answer:
        known = json.loads(_between(request, "EXISTING ENTITIES"))
        offered = {each["candidate_id"]: each for each in known}
        found = []
        for each in json.loads(_between(request, "ENTITIES")):
            number = self._first(self._thing(each["name"]), offered)
            names = [each["name"], *([offered[number]["name"]] if number is not None else [])]
            same = -1 if number is None else number
            found.append({"id": each["id"], "name": max(names, key=len), "duplicate_candidate_id": same})
        return {"entity_resolutions": found}

    def _graphiti_duplicate(self, request: Request) -> Answer:
        existing, others = (
            _numbered(_between(request, mark)) for mark in ("EXISTING FACTS", "FACT INVALIDATION CANDIDATES")
        )
        fact = self._told(_between(request, "NEW FACT"))
        same = [idx for idx, text in existing.items() if self._told(text).id == fact.id]
        offered = {**existing, **others}
        against = [idx for idx, text in offered.items() if self._corpus.conflict(fact, self._told(text))]
        return {"duplicate_facts": same, "contradicted_facts": against}

    def _graphiti_summaries(self, request: Request) -> Answer:
        entities: Sequence[Answer] = json.loads(_between(request, "ENTITIES"))
        line = self._line(json.loads(_between(request, "MESSAGES").splitlines()[-1]))
        return {"summaries": [self._graphiti_summary(each, line) for each in entities]}

    def _graphiti_summary(self, entity: Answer, line: Line) -> dict[str, str]:
        told = " ".join([entity["summary"], *self._about(self._thing(entity["name"]), line)])
        return {"name": entity["name"], "summary": told[-_SUMMARY_CHARS:]}


def _between(request: Request, mark: str) -> str:
    """What a prompt holds between <mark> and </mark>."""
    content: str = request.body["messages"][-1]["content"]
    _, opened, rest = content.partition(f"<{mark}>\n")
    if not opened:
        raise Unread(f"a prompt without {mark}")
    return rest.partition(f"\n</{mark}>")[0]


def _numbered(listed: str) -> dict[int, str]:
    """Facts as Graphiti shows them: a list in Python's notation."""
    return {each["idx"]: each["fact"] for each in ast.literal_eval(listed)}
