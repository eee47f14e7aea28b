"""Namesakes: Jordan the person and Jordan the country stay two. Pure.

A name key leads to one entity. Of two things of one name whose types exclude one another (see `classes`), one
has the key, the other the key with a mark for its class, in whatever order they come: the one whose class
comes first in CLASSES has the plain key (a person before a place), unless a caller gave the name to the
other. What says no class means that one. In the graph's own names, mentions and decisions the mark stands at
the end of the name; it is never shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import digest, name_key
from kgsvc.domain.names.classes import CLASSES, classes_of, exclude, surely_exclude

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
