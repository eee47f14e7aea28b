"""Records of merges and splits without what an erased episode had said. Pure.

They hold whole entities and statements as they were. Undoing goes on to work: it already passes over what a
cascade took away.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from kgsvc.domain.facts.summary import with_parts
from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.entities import is_callers
from kgsvc.domain.names.forgetting import without_words
from kgsvc.domain.names.merging import entity_in, said_in, still_called

_STATEMENTS = ("before", "after")
_CLOSURES = ("closures", "closures_after")


@dataclass(frozen=True, slots=True)
class Leaving:
    """What goes: an episode, facts that it alone stated, facts whose words change."""

    episode: str
    removed: Collection[str]
    reworded: Collection[str]


def marks(episode_uuid: str) -> str:
    """What is in the data of every record that holds something of the episode: the end of a JSON string."""
    return json.dumps(episode_uuid, ensure_ascii=False)[1:]


# Is in the data of every record that was not collected.
WHOLE = '"made":'


def redacted(record: MergeRecord, leaving: Leaving) -> MergeRecord | None:
    """The record as if the episode had never spoken; None: then there is nothing to take back."""
    data: dict[str, Any] = json.loads(record.data)
    if "entity" in data:
        if data["episodes"] == [leaving.episode] and not is_callers(entity_in(data)):
            return None
        data |= _unnamed(data, leaving)
    for part in ("said", "kept_said"):
        data[part] = {uuid: said for uuid, said in data.get(part, {}).items() if uuid != leaving.episode}
    data["changed"] = {
        uuid: _unsaid(changed, leaving.episode)
        for uuid, changed in data["changed"].items()
        if uuid not in leaving.removed
    }
    data["made"] = {uuid: _others(made, leaving.episode) for uuid, made in data["made"].items()}
    return replace(record, data=json.dumps(data, ensure_ascii=False))


def collected(record: MergeRecord) -> MergeRecord:
    """The record without what is needed to take the merge or split back; who went where stays."""
    data: dict[str, Any] = json.loads(record.data)
    return replace(record, data=json.dumps({"split": data["split"]} if "split" in data else {}))


def is_collected(data: Mapping[str, Any]) -> bool:
    """Whether the data of a record is what `collected` left."""
    return "made" not in data


def _unnamed(data: Mapping[str, Any], leaving: Leaving) -> dict[str, Any]:
    """The parts of a merge that describe the entity which went."""
    alone = _alone(data, "said", leaving.episode)
    said = {uuid: each for uuid, each in said_in(data, "said").items() if uuid != leaving.episode}
    names = [key for key in data["names"] if key not in alone] or data["names"][:1]
    before = entity_in(data)
    entity = without_words(before, leaving.episode, before.updated_ms)
    away = {*leaving.removed, *leaving.reworded}
    entity = with_parts(entity, [part for part in entity.summary_parts if part.key not in away])
    entity = still_called(entity, entity, said, set(names))
    if entity.source_episode_uuid == leaving.episode:
        entity = replace(entity, source_episode_uuid="")
    kept_name = data.get("kept_name", "")
    lost_name = name_key(kept_name) in _alone(data, "kept_said", leaving.episode)
    return {
        "entity": asdict(entity),
        "names": names,
        "episodes": [uuid for uuid in data["episodes"] if uuid != leaving.episode],
        "mentions": [uuid for uuid in data["mentions"] if uuid != leaving.episode],
        "attributes": [name for name in data["attributes"] if name in entity.attributes],
        "kept_name": entity.name if lost_name else kept_name,
    }


def _alone(data: Mapping[str, Any], part: str, episode: str) -> set[str]:
    """The keys of names that only this episode used."""
    said = said_in(data, part)
    own = {name_key(name) for name in said.get(episode, ((), ()))[0]}
    others = {name_key(name) for uuid, (names, _types) in said.items() if uuid != episode for name in names}
    return own - others


def _unsaid(changed: Mapping[str, Any], episode: str) -> dict[str, Any]:
    """A fact that the merge changed, without statements of the episode and the words that came with them."""
    left = dict(changed)
    for part in _STATEMENTS:
        left[part] = _others(changed[part], episode)
    for part in _CLOSURES:
        if part in changed:
            left[part] = [each for each in changed[part] if each["by_episode"] != episode]
    if left["before"] != changed["before"]:
        left["wording"] = {}
    return left


def _others(statements: Collection[Mapping[str, Any]], episode: str) -> list[Mapping[str, Any]]:
    return [each for each in statements if each["episode_uuid"] != episode]
