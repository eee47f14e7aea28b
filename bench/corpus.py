"""Synthetic chat about colleagues, the same for every run: who works where, leads what, likes what."""

from __future__ import annotations

import random
from dataclasses import dataclass

_FIRST = [
    "Ada",
    "Ben",
    "Cora",
    "Dan",
    "Eva",
    "Finn",
    "Gina",
    "Hugo",
    "Iris",
    "Jon",
    "Kira",
    "Leo",
    "Mona",
    "Nils",
    "Olga",
    "Paul",
    "Rosa",
    "Sven",
    "Tara",
    "Uwe",
]
_LAST = [
    "Adler",
    "Brandt",
    "Castro",
    "Dubois",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Hoffmann",
    "Ivanov",
    "Jensen",
    "Keller",
    "Lindqvist",
]
_PLACES = [
    "Oslo",
    "Lisbon",
    "Vienna",
    "Lyon",
    "Porto",
    "Gdansk",
    "Turin",
    "Bergen",
    "Malmo",
    "Ghent",
    "Leipzig",
    "Graz",
    "Cork",
    "Bilbao",
]
_THINGS = [
    "jazz",
    "chess",
    "sailing",
    "pottery",
    "climbing",
    "espresso",
    "gardening",
    "sushi",
    "astronomy",
    "cycling",
    "origami",
]
_NAMES = [
    "Falcon",
    "Aurora",
    "Granite",
    "Comet",
    "Willow",
    "Harbor",
    "Meteor",
    "Lantern",
    "Summit",
    "Juniper",
    "Cobalt",
    "Ember",
]
_START_MS = 1_704_067_200_000
_STEP_MS = 60_000


@dataclass(frozen=True, slots=True)
class Line:
    """A message and who says it when."""

    role: str
    content: str
    at_ms: int


def people(count: int) -> list[str]:
    """`count` different full names."""
    return [
        f"{_FIRST[i % len(_FIRST)]} {_LAST[i // len(_FIRST) % len(_LAST)]}" for i in range(min(count, 240))
    ]


def chat(count: int, seed: int = 7) -> list[Line]:
    """`count` messages, two sentences each."""
    rng = random.Random(seed)
    names = people(240)
    lines: list[Line] = []
    for index in range(count):
        speaker, other = rng.sample(names, 2)
        company = f"{rng.choice(_NAMES)} {rng.choice(('Labs', 'Works', 'Systems'))}"
        project = f"Project {rng.choice(_NAMES)} {index % 97}"
        first = rng.choice(
            (f"I work at {company}.", f"I live in {rng.choice(_PLACES)}.", f"I lead {project}.")
        )
        second = rng.choice(
            (f"{other} likes {rng.choice(_THINGS)}.", f"I met {other} in {rng.choice(_PLACES)} last week.")
        )
        lines.append(Line(speaker, f"{first} {second}", _START_MS + index * _STEP_MS))
    return lines


def questions(count: int, seed: int = 11) -> list[str]:
    """`count` questions that the chat has answers to."""
    rng = random.Random(seed)
    names = people(240)
    forms = ("Where does {n} work?", "Who met {n}, and where?", "What does {n} like?", "Where does {n} live?")
    return [rng.choice(forms).format(n=rng.choice(names)) for _ in range(count)]
