"""Namesakes: Jordan the person and Jordan the country stay two, and so may two speakers without a name. Pure.

A name key leads to one entity. Of two things of one name whose types exclude one another (see the table), one
has the key, the other the key with a mark for its class, in whatever order they come: the one whose class
comes first in CLASSES has the plain key (a person before a place), unless a caller gave the name to the
other. What says no class means that one. In the graph's own names, mentions and decisions the mark stands at
the end of the name; it is never shown.

| Class | Types |
|---|---|
| person | Person |
| organisation | Organization, Organisation, Company, Institution, Team |
| place | Location, Place, City, Country, Region |
| made | Product, Project, Work, Document |
| event | Event |
| time | Time, Date |

Other types (Topic, Object, a group's own) exclude nothing. What is read from texts wavers between an
organisation and its place (a clinic, a restaurant), its product or its project (a service that bears its
maker's name), and between what is made and its event (a release): only a model tells such two apart, no rule
does.

Who speaks without a name ("(user): I live in Porto") is one person, called "user", as long as no more than
one speaker of the group has a name. Once several have, there is one in each conversation, which is what
`source_description` tells: the first keeps the person that was known, each further one has a person of its
own, by a mark for the conversation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity, Episode, RoleType, without_source_url
from kgsvc.domain.model.keys import digest, name_key
from kgsvc.domain.resolution.decisions import CandidateQuery

PERSON, ORGANISATION, PLACE, MADE, EVENT, TIME = "person", "organisation", "place", "made", "event", "time"
CLASSES = (PERSON, ORGANISATION, PLACE, MADE, EVENT, TIME)
_TYPES = {
    PERSON: "Person",
    ORGANISATION: "Organization Organisation Company Institution Team",
    PLACE: "Location Place City Country Region",
    MADE: "Product Project Work Document",
    EVENT: "Event",
    TIME: "Time Date",
}
_CLASS_OF = {name.casefold(): each for each, names in _TYPES.items() for name in names.split()}
_WAVERING = frozenset(
    {frozenset({ORGANISATION, PLACE}), frozenset({ORGANISATION, MADE}), frozenset({MADE, EVENT})}
)


def classes_of(types: Collection[str]) -> frozenset[str]:
    """The classes of types; none where they exclude nothing."""
    return frozenset(found for name in types if (found := _CLASS_OF.get(name.casefold())) is not None)


def exclude(one: Collection[str], other: Collection[str]) -> bool:
    """Whether things of these types are two: both have classes, and none in common."""
    first, second = classes_of(one), classes_of(other)
    return bool(first and second) and first.isdisjoint(second)


def surely_exclude(one: Collection[str], other: Collection[str]) -> bool:
    """Whether they are two whoever read them: `exclude`, but for classes between which readings waver."""
    first, second = classes_of(one), classes_of(other)
    wavers = any(frozenset({a, b}) in _WAVERING for a in first for b in second)
    return exclude(one, other) and not wavers


_FIRST_MARK = 0xE001  # of a private use area: neither a letter nor a space, and the same in every normal form
_MARKS = {each: chr(_FIRST_MARK + n) for n, each in enumerate(CLASSES)}
_LENGTH = 12  # of a mark for a conversation
_MOST = 8  # namesakes that were taken out and are looked for
_TAKEN_OUT = chr(_FIRST_MARK + len(CLASSES))
_DIGITS = "".join(chr(_FIRST_MARK + 0x10 + n) for n in range(16))  # of a mark for a conversation
_ALL_MARKS = "".join(_MARKS.values()) + _TAKEN_OUT + _DIGITS


def plain(name: str) -> str:
    """The name without its mark."""
    return name.rstrip(_ALL_MARKS)


def is_marked(name: str) -> bool:
    """Whether it is a namesake's."""
    return name != plain(name)


def marked(name: str, of: str) -> str:
    """The name of the namesake of a class."""
    return plain(name) + _MARKS[of]


def in_conversation(name: str, conversation: str) -> str:
    """The name of who is called so in one conversation, and is another one elsewhere."""
    return plain(name) + "".join(_DIGITS[int(each, 16)] for each in digest(conversation)[:_LENGTH])


def is_of_conversation(name: str) -> bool:
    """Whether it is the name of such a one."""
    return name.endswith(tuple(_DIGITS))


def namesake(name: str, labels: Collection[str], of: Entity, keys: Collection[str]) -> str:
    """The marked name for what was taken out of `of` and goes by a name of it; `keys` are taken."""
    for each in CLASSES if exclude(labels, of.labels) else ():
        if each in classes_of(labels) and name_key(marked(name, each)) not in keys:
            return marked(name, each)
    found = plain(name) + _TAKEN_OUT
    while name_key(found) in keys:
        found += _TAKEN_OUT
    return found


def namesakes_of(name: str) -> set[str]:
    """Its name keys, plain and with every mark; of marks for what was taken out the first few."""
    taken_out = (plain(name) + _TAKEN_OUT * n for n in range(1, _MOST + 1))
    return {name_key(key) for key in (plain(name), *(marked(name, each) for each in CLASSES), *taken_out)}


def keys_of_node(node: ExtractedNode) -> set[str]:
    """The name keys by which an entity may be known that the node means."""
    name = plain(node.name)
    return {name_key(name), *(name_key(marked(name, each)) for each in classes_of([node.type]))}


def told_apart(extractions: Iterable[Extraction], view: NameView, asks: bool) -> list[Extraction]:
    """The extractions with marks at the names of namesakes. `asks`: a model decides which are one after all,
    so that more types than those that surely exclude one another make a question."""
    extractions = list(extractions)
    parts = exclude if asks else surely_exclude
    primary = _primary(extractions, view)

    def mark(node: ExtractedNode) -> ExtractedNode:
        name, key = plain(node.name.strip()), name_key(plain(node.name))
        for each in classes_of([node.type]):
            other = marked(name, each)
            if name_key(other) in view.by_key or parts(primary.get(key, ()), [node.type]):
                return replace(node, name=other)
        return node if name == node.name.strip() else replace(node, name=name)

    return [replace(each, nodes=tuple(map(mark, each.nodes))) for each in extractions]


def _primary(extractions: Iterable[Extraction], view: NameView) -> dict[str, Collection[str]]:
    """The types of what has the plain key of a name: of the entity that has it, else of the class that comes
    first."""
    types: defaultdict[str, set[str]] = defaultdict(set)
    for each in extractions:
        for node in each.nodes:
            types[name_key(plain(node.name))].add(node.type)
    found: dict[str, Collection[str]] = {}
    for key, said in types.items():
        known = view.by_key.get(key)
        labels = known.labels if known else ()
        found[key] = labels if classes_of(labels) else _of_first_class(said)
    return found


def _of_first_class(types: Collection[str]) -> list[str]:
    ranks = {name: _rank([name]) for name in types}
    best = min(ranks.values(), default=len(CLASSES))
    return [name for name, rank in ranks.items() if rank == best < len(CLASSES)]


def _rank(types: Collection[str]) -> int:
    return min((CLASSES.index(each) for each in classes_of(types)), default=len(CLASSES))


def exchanged(by_key: Mapping[str, Entity], callers: Collection[str]) -> dict[str, str]:
    """Entity uuids by name key, for namesakes of which the marked one comes first: it gets the plain key, and
    the other one the mark of its class. `callers` are the uuids of entities that callers named."""
    found: dict[str, str] = {}
    for key, entity in sorted(by_key.items()):
        apart = is_marked(key) and not is_of_conversation(key)
        holder = by_key.get(plain(key)) if apart else None
        if holder is not None and holder.uuid not in {*callers, entity.uuid}:
            first, other = _rank(entity.labels), _rank(holder.labels)
            if first < other < len(CLASSES):
                found |= {plain(key): entity.uuid, marked(key, CLASSES[other]): holder.uuid}
    return found


def shared_keys(entities: Iterable[Entity]) -> set[str]:
    """The name keys of entities and of all namesakes that they may have."""
    return set().union(*(namesakes_of(entity.name) for entity in entities))


def heirs(view: NameView, gone: Collection[str]) -> dict[str, str]:
    """Who gets the plain keys of entities that go: of the namesakes in `view` the first by class."""
    found: dict[str, str] = {}
    for key, entity in sorted(view.by_key.items()):  # the marks sort as the classes do
        holder = view.by_key.get(plain(key))
        if holder is not None and holder.uuid in gone and entity.uuid not in gone:
            found.setdefault(plain(key), entity.uuid)
    return found


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
