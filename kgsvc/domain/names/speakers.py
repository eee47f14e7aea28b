"""Who speaks, and who speaks without a name: "(user): I live in Porto". Pure.

Such a speaker is one person, called "user", as long as no more than one speaker of the group has a name. Once
several have, there is one in each conversation, which is what `source_description` tells: the first keeps the
person that was known, each further one has a person of its own. In the graph's own names a mark for the
conversation stands at the end of theirs, as for namesakes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity, Episode, RoleType, without_source_url
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.classes import PERSON, classes_of
from kgsvc.domain.names.namesakes import in_conversation, is_marked, plain
from kgsvc.domain.resolution.decisions import CandidateQuery

Told = Sequence[tuple[Episode, Extraction]]
WITH_NAME = "@speaker"  # by this search term speakers are found; the words of names are letters and digits
SPEAKER = "speaker"  # in the stamps of an entity: it spoke a message
# Before a marked name key, in the stamps of a speaker without a name: its first conversation.
_SPEAKS_IN = "c."
_UNNAMED = frozenset({"user", "the user"})
_SEVERAL = 2  # speakers with a name, from which on conversations part those without
_READ = 16  # speakers of a group: some may be no persons


def is_speaker(entity: Entity) -> bool:
    """Whether a message was spoken by one of its name."""
    return SPEAKER in entity.stamps


def speaking(entity: Entity, episode: Episode, node: ExtractedNode) -> Entity:
    """The entity that a node of the episode means: it remembers that it spoke, or first spoke without a name
    in what conversation."""
    stamps = set(entity.stamps)
    if name_key(episode.role or "") == name_key(node.name):
        stamps.add(SPEAKER)
    elif _is_unnamed(episode, node) and not is_marked(node.name) and not _conversation_of(entity):
        stamps.add(_SPEAKS_IN + _own_key(episode, node))
    new = stamps.difference(entity.stamps)
    return replace(entity, stamps={**entity.stamps, **dict.fromkeys(new, "/")}) if new else entity


def unnamed_keys(told: Told) -> set[str]:
    """The name keys of speakers without a name, each in its conversation."""
    return {_own_key(episode, node) for episode, node in _unnamed(told)}


def speakers_query() -> CandidateQuery:
    """What to read to see whether several speakers have names."""
    return CandidateQuery([WITH_NAME], entities_per_token=_READ)


def told_by_conversation(told: Told, view: NameView, speakers: Collection[Entity]) -> list[Extraction]:
    """The extractions, with marks at speakers without a name who are those of their conversations. `view`
    holds `unnamed_keys`, `speakers` are those with a name that are known."""
    several = len(_with_names(told, view, speakers)) >= _SEVERAL
    keeps: dict[str, str] = {}  # whose conversation the person is that has the plain name, by name key
    for episode, node in sorted(_unnamed(told), key=lambda each: (each[0].reference_ms, each[0].uuid)):
        known = view.by_key.get(name_key(plain(node.name)))
        keeps.setdefault(name_key(plain(node.name)), _conversation_of(known) or _own_key(episode, node))

    def mark(episode: Episode, node: ExtractedNode) -> ExtractedNode:
        if not _is_unnamed(episode, node):
            return node
        own = _own_key(episode, node)
        apart = several and keeps[name_key(plain(node.name))] != own
        if not apart and own not in view.by_key:
            return node
        return replace(node, name=in_conversation(node.name, _conversation(episode)))

    return [replace(each, nodes=tuple(mark(episode, n) for n in each.nodes)) for episode, each in told]


def _with_names(told: Told, view: NameView, speakers: Collection[Entity]) -> set[str]:
    """Those who speak under a name: uuids of known ones, name keys of others."""
    found = {entity.uuid for entity in speakers if PERSON in classes_of(entity.labels)}
    for episode, _ in told:
        if episode.role and episode.role_type in (None, RoleType.USER):
            key = name_key(episode.role)
            known = view.by_key.get(key)
            found.add(known.uuid if known else key)
    return found


def _unnamed(told: Told) -> Iterator[tuple[Episode, ExtractedNode]]:
    for episode, extraction in told:
        for node in extraction.nodes:
            if _is_unnamed(episode, node):
                yield episode, node


def _is_unnamed(episode: Episode, node: ExtractedNode) -> bool:
    """Whether the node is who speaks, without a name, in a conversation that is told apart from others."""
    speaks = episode.role_type is RoleType.USER and not episode.role
    return speaks and name_key(plain(node.name)) in _UNNAMED and bool(_conversation(episode))


def _conversation(episode: Episode) -> str:
    """What the description says but for an address, which may be the message's own."""
    return without_source_url(episode.source_description or "")


def _own_key(episode: Episode, node: ExtractedNode) -> str:
    return name_key(in_conversation(node.name, _conversation(episode)))


def _conversation_of(entity: Entity | None) -> str:
    """The name key in the conversation that it first spoke in; empty: none is known."""
    stamps = entity.stamps if entity else ()
    return next((part.removeprefix(_SPEAKS_IN) for part in stamps if part.startswith(_SPEAKS_IN)), "")
