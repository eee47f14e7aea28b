"""Episodes by seed: people, employers, homes and projects that change, told out of order and more than once.

Nothing is said that needs other episodes to be understood ("you", "she"): what an extraction sees of them
depends on what was accepted before it, which is no promise of the service.
"""

import random
import uuid
from typing import Any

from kgsvc.models.prompts import resolution
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import episode, message
from tests.support.model_process import ModelProcess
from tests.support.scripted_openai import answer, edge, node

PEOPLE = ("Alice Moreau", "Bruno Keller", "Carla Jensen", "Dmitri Petrov", "Elena Rossi", "Farid Haddad")
EMPLOYERS = ("Acme Robotics", "Globex", "Initech", "Umbrella Labs", "Northwind")
CITIES = ("Lisbon", "Oslo", "Vienna", "Toronto", "Nairobi")
PROJECTS = ("Project Falcon", "Project Heron", "Project Kite")
LIKES = ("chess", "climbing", "jazz", "sailing")

_BASE_MS = 1_700_000_000_000
_MINUTE_MS = 60_000
_NAMESPACE = uuid.UUID("9f3f2e58-7a5e-4c55-9a53-1f1ac3f2b0aa")
_SAID = (
    "I work at {employer}.",
    "I live in {city}.",
    "I like {like}.",
    "I no longer work at {employer}.",
    "I lead {project}.",
    "I moved to {city} and I work at {employer}.",
)
_TOLD = (
    "{person} works at {employer}.",
    "{person} lives in {city}.",
    "{person} leads {project}.",
    "{person} left {employer}.",
    "{person} met {other} in {city}.",
    "{person} works at {employer}. {other} lives in {city}.",
    "{person} moved to {city}.",
)


def conversation(seed: int, count: int) -> list[typ.EpisodeItem | typ.Message]:
    """`count` items in the order in which they are sent: roughly, not strictly, by reference time."""
    rng = random.Random(seed)
    items = [_item(rng, f"{seed}/{number}", number) for number in range(count)]
    return [item for _, item in sorted(enumerate(items), key=lambda entry: entry[0] + rng.uniform(0, 40))]


def _item(rng: random.Random, key: str, number: int) -> typ.EpisodeItem | typ.Message:
    # No two at one time: which of them counts would follow the order of acceptance, which kills change.
    at_ms = _BASE_MS + number * _MINUTE_MS // 2
    person, other = rng.sample(PEOPLE, 2)
    words = {
        "person": person,
        "other": other,
        "employer": rng.choice(EMPLOYERS),
        "city": rng.choice(CITIES),
        "project": rng.choice(PROJECTS),
        "like": rng.choice(LIKES),
    }
    made = str(uuid.uuid5(_NAMESPACE, key))
    if rng.random() < 0.6:
        return message(rng.choice(_SAID).format(**words), at_ms, role=person, uuid=made)
    return episode(rng.choice(_TOLD).format(**words), at_ms, uuid=made, name=f"note {number}")


def employed(person: str, employer: str = "Acme") -> dict[str, Any]:
    """What a scripted model reads out of an episode about somebody: one fact."""
    nodes = [node("p", person, type="Person"), node("o", employer, type="Organization")]
    edges = [edge("WORKS_AT", f"{person} works at {employer}", "p", "o", kind="functional")]
    return answer(nodes=nodes, edges=edges)


async def bodies_shown(model: ModelProcess) -> list[str]:
    """What the model was asked to extract from: the bodies, without questions about what is known."""
    texts = [request["text"] for request in await model.requests()]
    return [text for text in texts if f"<{resolution.MARK}>" not in text]
