"""Episodes that say exactly what a test means: their body is the extraction itself.

The scripted model answers with the body it is shown, so a test decides what is read from an episode; its
vectors are those of words, with synonyms that share none.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.limits import DAY_MS
from kgsvc.models.prompts.summaries import COMMUNITY_MARK
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, episode
from tests.support.scripted_openai import (
    Outcome,
    Request,
    ScriptedOpenAI,
    answer,
    edge,
    hanging,
    node,
    replies,
    reply_body,
    says,
    verdicts,
)
from tests.support.scripted_openai.script import fenced_data

DIMENSION = 512
JAN, FEB, MAR, APR, MAY = (1_704_067_200_000 + 30 * DAY_MS * month for month in range(5))  # of 2024
# Words of one meaning: their vectors are equal, their letters are not.
SYNONYMS = {"physician": "doctor", "automobile": "car", "residence": "home"}
RETOLD = "Rhea"  # of her alone the model rewrites the summary
_WORD = re.compile(r"\w+")


def fact(name: str, source: str, target: str, text: str = "", **more: Any) -> dict[str, Any]:
    """A statement to be read: `text` defaults to the bare words; `more` as in a model's answer."""
    words = text or f"{source} {name.lower().replace('_', ' ')} {target}"
    return edge(name, words, source, target, **more)


def body(*facts: Mapping[str, Any], names: Sequence[str] = ()) -> str:
    """The body of an episode that says `facts` and names their ends and `names`."""
    ends = [end for each in facts for end in (each["source_ref"], each["target_ref"])]
    refs = {name: f"n{number}" for number, name in enumerate(dict.fromkeys([*ends, *names]))}
    nodes = [node(ref, name) for name, ref in refs.items()]
    edges = [
        {**each, "source_ref": refs[each["source_ref"]], "target_ref": refs[each["target_ref"]]}
        for each in facts
    ]
    return json.dumps(answer(nodes, edges), ensure_ascii=False)


def telling(at_ms: int, *facts: Mapping[str, Any], uuid: str | None = None) -> typ.EpisodeItem:
    """An episode that says `facts` at a time."""
    return episode(body(*facts), at_ms, uuid=uuid)


HELD = fact("KNOWS", "Alice", "Held")
# A chain of people, Ann to Gus, whose facts have more or fewer words of the queries in them.
PEOPLE = ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus")
TEXTS = (
    "Ann sees a physician about the automobile",
    "Bob drives the red car home",
    "Cid is the doctor of Dan",
    "Dan sold a red car",
    "Eve painted her residence red",
    "Fay likes tea",
)
CORPUS = [
    fact("KNOWS", source, target, text)
    for source, target, text in zip(PEOPLE, PEOPLE[1:], TEXTS, strict=False)
]


async def corpus_told(client: Client, group: str) -> list[typ.FactResult]:
    """The corpus in a group, all facts of it."""
    await client.ingest(group, [telling(JAN + n, each, uuid=f"e{n}") for n, each in enumerate(CORPUS)])
    found = await client.search(group, " ".join((*TEXTS, "knows")), max_facts=100)
    assert len(found) == len(CORPUS)
    return found


async def held_up(
    client: Client, group: str, model: ScriptedOpenAI, *items: typ.EpisodeItem
) -> ing.AddEpisodesOutput:
    """Accepts items that tell HELD, and waits until the model is asked, which answers once it is healed."""
    model.fail(hanging(), match="Held", times=None)
    calls = len(model.requests)
    accepted = await client.add_episodes(group, list(items))
    await model.received(calls + 1)
    return accepted


def reads_bodies(request: Request) -> Outcome | Mapping[str, Any]:
    """The script of the model: extractions are what bodies say, no new name means a known one, of facts that
    `exclude` one another the new one replaces the known, vectors are those of `vector`, relevance is
    `brevity`."""
    if request.endpoint == "embeddings":
        return reply_body(json.dumps(_embeddings(request.body)))
    of_known = _about_known(request)
    if of_known is not None:
        return of_known
    _, brace, said = request.text.partition("{")
    if not brace:
        return answer()
    found: Mapping[str, Any] = json.loads(brace + said)
    names = {each["ref"]: each["name"] for each in found["nodes"]}
    for each in found["edges"]:
        _READ[each["fact"]] = {
            **each,
            "source": names.get(each["source_ref"]),
            "target": names.get(each["target_ref"]),
        }
    return found


def _about_known(request: Request) -> Outcome | Mapping[str, Any] | None:
    """What is said about what is in the graph already; None where something is to be extracted."""
    pair = fenced_data(request.body, COMMUNITY_MARK)
    if pair is not None:
        return says(json.dumps(gist(pair["first"], pair["second"])))
    if request.resolution is not None:
        return judged(request.resolution)
    if request.relevance is not None:
        return replies.ratings([brevity(each["text"]) for each in request.relevance["passages"]])
    return None if request.retelling is None else retold(request.retelling)


def judged(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing is known yet, but what a new fact excludes is replaced by it."""
    said = replies.all_new(asked)
    known = {each["idx"]: each["fact"] for each in asked.get("known_facts", [])}
    for question, reply in zip(asked.get("new_facts", []), said["facts"], strict=True):
        ended = [idx for idx in question["compare_with"] if exclude(question["fact"], known[idx])]
        reply.update(verdicts(replaced=ended))
    return said


_READ: dict[str, Mapping[str, Any]] = {}  # edges by their texts


def exclude(one: str, other: str) -> bool:
    """Whether two texts, as they were read, state one relation of one thing that allows one of them: of one
    target, or of any where it is functional."""
    first, second = _READ.get(one), _READ.get(other)
    if (
        one == other
        or first is None
        or second is None
        or (first["name"], first["source"]) != (second["name"], second["source"])
    ):
        return False
    kinds = {first["kind"], second["kind"]}
    return "event" not in kinds and ("functional" in kinds or first["target"] == second["target"])


def gist(first: str, second: str) -> dict[str, str]:
    """What the model makes of two summaries: a name that tells whose it is, and both texts."""
    both = f"{first} {second}"
    return {"name": f"model: {both}"[:80].strip(), "summary": both[:500].strip()}


def brevity(text: str) -> int:
    """What the model rates a passage: short ones are the best to it."""
    return max(0, 100 - len(text))


def retold(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the model makes of long summaries: words for RETOLD alone."""
    told = [each for each in asked["entities"] if each["name"] == RETOLD]
    return {"summaries": [{"id": e["id"], "summary": f"In short: {e['facts'][-1]}"} for e in told]}


def vector(text: str) -> NDArray[np.float64]:
    """Of length 1, as the service has it; equal for texts of equal meaning."""
    words = (SYNONYMS.get(word, word) for word in _WORD.findall(text.casefold()))
    numbers = np.array(replies.vector(" ".join(words), DIMENSION))
    unit: NDArray[np.float64] = numbers / np.linalg.norm(numbers)
    return unit


def _embeddings(asked: Mapping[str, Any]) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector(text).tolist()}
        for index, text in enumerate(asked["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": asked["model"], "data": data, "usage": usage}
