"""A story with planted aliases: who is who, what holds when, and a model that knows it all."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsvc.domain.limits import DAY_MS
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import reads_bodies
from tests.support.client import episode
from tests.support.scripted_openai import Outcome, Request, answer, edge, node, resolutions, verdicts

AT_MS = 1_717_000_000_000
ALIASES = {
    "Robert Smith": ("Bob", "Bob Smith", "Robert Smith"),
    "Elizabeth Jones": ("Liz", "Liz Jones", "Elizabeth Jones"),
    "William Carter": ("Bill", "Bill Carter", "William Carter"),
    "Katherine Moreau": ("Kate", "Kate Moreau", "Katherine Moreau"),
    "Edward Okafor": ("Ted", "Ted Okafor", "Edward Okafor"),
    "Margaret Smith": ("Peggy", "Peggy Smith", "Margaret Smith"),  # shares a surname with another
    "Alejandro Ruiz": ("Alejandro", "Mr. Ruiz", "Alejandro Ruiz"),
    "Samuel Jones": ("Sam", "Sam Jones", "Samuel Jones"),
}
PERSON = {alias: person for person, aliases in ALIASES.items() for alias in aliases}
EMPLOYERS = ("Acme Robotics", "Acme Foods", "Globex", "Initech", "Northwind 2", "Northwind 3")
CITIES = ("Lisbon", "Oslo", "Vienna", "Toronto", "Nairobi")
THINGS = ("jazz", "chess", "sushi", "hiking")
TOLD = {"WORKS_AT": "works at", "LIVES_IN": "lives in", "LIKES": "likes"}
ENDED = {"WORKS_AT": "no longer works at", "LIKES": "no longer likes"}
KINDS = {"WORKS_AT": "functional", "LIVES_IN": "state", "LIKES": "state"}
ENDED_BY_ANOTHER = frozenset({"WORKS_AT", "LIVES_IN"})
Meaning = tuple[str, str, str]  # person, relation, target


@dataclass(frozen=True, slots=True)
class Saying:
    """One episode: on a day somebody is said to do something, or no longer to."""

    day: int
    alias: str
    relation: str
    target: str
    ends: bool

    @property
    def text(self) -> str:
        """In words."""
        verb = (ENDED if self.ends else TOLD)[self.relation]
        return f"{self.alias} {verb} {self.target}"

    @property
    def meaning(self) -> Meaning:
        """What it says of whom."""
        return (PERSON[self.alias], self.relation, self.target)

    def extracted(self) -> typ.EpisodeItem:
        """As an episode whose body is its extraction."""
        found = edge(
            self.relation,
            self.text,
            "p",
            "t",
            kind=KINDS[self.relation],
            polarity="ends" if self.ends else "asserts",
        )
        said = answer([node("p", self.alias, type="Person"), node("t", self.target)], [found])
        return episode(json.dumps(said), AT_MS + self.day * DAY_MS, uuid=f"day-{self.day:03}")

    def prose(self) -> typ.EpisodeItem:
        """As an episode for people to read."""
        return episode(f"{self.text}.", AT_MS + self.day * DAY_MS, uuid=f"day-{self.day:03}")


def story(days: int, rng: random.Random, *, full_names: bool = False) -> list[Saying]:
    """Changed jobs, moved houses, tastes taken up and given up, one saying a day under any name."""
    now: dict[tuple[str, str], set[str]] = {}
    told: list[Saying] = []
    for day in range(days):
        person = rng.choice(sorted(ALIASES))
        relation = rng.choice(sorted(TOLD))
        alias = person if full_names else rng.choice(ALIASES[person])
        held = now.setdefault((person, relation), set())
        ends = relation in ENDED and bool(held) and rng.random() < 0.25
        targets = {"WORKS_AT": EMPLOYERS, "LIVES_IN": CITIES, "LIKES": THINGS}[relation]
        target = rng.choice(sorted(held) if ends else targets)
        if ends:
            held.discard(target)
        elif relation == "LIKES":
            held.add(target)
        else:
            now[person, relation] = {target}
        told.append(Saying(day, alias, relation, target, ends))
    return told


def current(told: list[Saying]) -> set[Meaning]:
    """What holds in the end."""
    holding: set[Meaning] = set()
    for said in sorted(told, key=lambda s: s.day):
        person, relation, _ = said.meaning
        if said.ends:
            holding.discard(said.meaning)
        else:
            if relation != "LIKES":
                holding = {held for held in holding if held[:2] != (person, relation)}
            holding.add(said.meaning)
    return holding


class Knowing:
    """The script of a model that knows who is who and what excludes what."""

    def __init__(self, told: list[Saying]) -> None:
        self._meant = {said.text: said for said in told}

    def __call__(self, request: Request) -> Outcome | Mapping[str, Any]:
        """Extractions are what bodies say."""
        asked = request.resolution
        if request.endpoint == "embeddings" or asked is None:
            return reads_bodies(request)
        known = {entity["idx"]: entity["name"] for entity in asked.get("known_entities", [])}
        aliases = {e["idx"]: e.get("aliases", ()) for e in asked.get("known_entities", [])}
        new = {
            n["id"]: n["name"] for part in ("new_entities", "other_new_entities") for n in asked.get(part, [])
        }
        nodes: dict[int, dict[str, Any]] = {}
        for question in asked.get("new_entities", []):
            who = PERSON.get(question["name"])
            same = [i for i in question["candidates"] if who and who in _people(known[i], aliases[i])]
            peer = [i for i in question["peers"] if who and PERSON.get(new[i]) == who]
            nodes[question["id"]] = {
                "same_as_known": same[0] if same else None,
                "same_as_new": peer[0] if peer and not same else None,
                "also_known": same[1:],
                "also_new": peer if same else peer[1:],
                "full_name": who,
            }
        told = {fact["idx"]: self._meant[fact["fact"]] for fact in asked.get("known_facts", [])}
        return resolutions(nodes, {q["id"]: self._compared(q, told) for q in asked.get("new_facts", [])})

    def _compared(self, question: Mapping[str, Any], told: Mapping[int, Saying]) -> dict[str, Any]:
        said = self._meant[question["fact"]]
        same = [i for i in question["compare_with"] if _same(told[i], said)]
        replaced = [
            i
            for i in question["compare_with"]
            if said.relation == told[i].relation
            and said.relation in ENDED_BY_ANOTHER
            and not (said.ends or told[i].ends)
            and told[i].meaning[0] == said.meaning[0]
            and told[i].target != said.target
        ]
        return verdicts(repeats=same[:1], replaced=replaced)


def _same(one: Saying, other: Saying) -> bool:
    return one.meaning == other.meaning and one.ends == other.ends


def _people(name: str, aliases: list[str]) -> set[str]:
    by_key = {alias.casefold(): person for alias, person in PERSON.items()}
    return {by_key[key] for key in (name.casefold(), *aliases) if key in by_key}
