"""What is fed to servers that are killed is understood item by item, whatever was accepted before."""

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Episode, RoleType, Source
from kgsvc.models.rules.extractor import extract_one
from kgsvc.v1 import types_pb2 as typ
from tests.faults.conversations import conversation


def told(item: typ.EpisodeItem | typ.Message) -> Episode:
    if isinstance(item, typ.EpisodeItem):
        at_ms = item.reference_time.ToMilliseconds()
        return Episode(item.uuid, "g", item.body, Source.TEXT, at_ms, at_ms, name=item.name)
    at_ms, body = item.timestamp.ToMilliseconds(), f"{item.role}(user): {item.content}"
    return Episode(
        item.uuid, "g", body, Source.MESSAGE, at_ms, at_ms, role=item.role, role_type=RoleType.USER
    )


def read(episode: Episode, previous: list[Episode]) -> set[tuple[str, str, str, str]]:
    found = extract_one(ExtractionRequest(episode, previous), Limits()).extraction
    names = {node.ref: node.name for node in found.nodes}
    return {(e.name, names[e.source_ref], names[e.target_ref], e.fact) for e in found.edges}


def test_no_item_needs_others_to_be_understood() -> None:
    episodes = [told(item) for item in conversation(20240611, 500)]
    for place, episode in enumerate(episodes):
        assert read(episode, []) == read(episode, episodes[max(0, place - 10) : place]), episode.body
        assert read(episode, []) == read(episode, episodes[place + 1 : place + 41]), episode.body
