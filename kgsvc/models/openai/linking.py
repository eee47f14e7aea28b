"""Between the nodes and the edges of one answer: what a ref points at, and which unlisted texts are names.

A ref that no node bears never becomes an entity: its edge is left out (docs/types.md has the table).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ANY, UNKNOWN, ExtractedEdge, ExtractedNode
from kgsvc.domain.text import normalise
from kgsvc.models.openai import values
from kgsvc.models.openai.normalisations import Dropped, Notes
from kgsvc.models.openai.values import Bad
from kgsvc.models.protocol import Trouble

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_NUMBERED = re.compile(r"([^0-9]*)[0-9]+")
_COUNTED = re.compile(r"([^0-9]*)([0-9]{1,9})")
_HANDLES = frozenset(
    ("", "#", "n", "e", "id", "idx", "index", "ref", "tmp", "node", "edge", "entity", "fact")
)
_NOBODY = frozenset({"unknown", "undefined", "unnamed", "none", "null", "n/a", "entity", "node"})
_NAME_LETTERS = 3  # a shorter text that the fact does not hold is taken for a ref


class NodeBook:
    """The nodes of one answer, by ref and by normalised name; edges are linked through it.

    `raws` are all its nodes as they were answered, by path, those that are left out included.
    """

    def __init__(self, limits: Limits, raws: Sequence[tuple[str, object]], notes: Notes) -> None:
        self._limits = limits
        self._notes = notes
        self._by_name: dict[str, ExtractedNode] = {}
        self._name_of: dict[str, str] = {}
        refs = [_text_of(raw, "ref") for _, raw in raws]
        self._refs = set(refs) - {""}
        numbered = filter(None, map(_NUMBERED.fullmatch, self._refs))
        self._stems = _HANDLES.union(map(_stem, numbered))
        counted = _counted(refs)
        self._counted = {path: ref for (path, _), ref in zip(raws, counted, strict=True)}
        self._owners = {
            ref: normalise(_text_of(raw, "name"))
            for (_, raw), ref, own in zip(raws, refs, counted, strict=True)
            if ref == own
        }

    @property
    def nodes(self) -> tuple[ExtractedNode, ...]:
        """Each name once, in the order of first appearance."""
        return tuple(self._by_name.values())

    def add(self, node: ExtractedNode, path: str) -> None:
        """Take a node in; a second one of the same name completes the first. A ref that two nodes bear means
        the one whose place asks for it, else the first. A node left without a ref gets the one that its
        place asks for, if no other bears it."""
        name = normalise(node.name)
        if (self._owners.get(node.ref) or self._name_of.get(node.ref, name)) != name:
            self._notes.put_right(f"{path}.ref", Trouble.REPEATED)
            node = replace(node, ref=path)
        if node.ref == path and (counted := self._counted[path]) and counted not in self._refs:
            node = replace(node, ref=counted)
        self._name_of[node.ref] = name
        known = self._by_name.get(name)
        self._by_name[name] = node if known is None else self._completed(known, node)

    def link(self, edge: ExtractedEdge, path: str) -> ExtractedEdge:
        """`edge` with refs of listed nodes at both ends, or of one node at both: a property of it. Raises
        Dropped where there is none; Bad for one name too many."""
        for field, given in (("source_ref", edge.source_ref), ("target_ref", edge.target_ref)):
            if self._named(given) is None and not self._is_name(given, edge.fact):
                problem = "is neither a ref of the listed nodes nor a name"
                raise Dropped(field, problem, Trouble.UNKNOWN_REF)
        source = self._endpoint(edge.source_ref, "source_ref", path)
        target = self._endpoint(edge.target_ref, "target_ref", path)
        return replace(edge, source_ref=source.ref, target_ref=target.ref)

    def _completed(self, first: ExtractedNode, second: ExtractedNode) -> ExtractedNode:
        merged = {**second.attributes, **first.attributes}
        return replace(
            first,
            type=second.type if first.type in {ANY, UNKNOWN} else first.type,
            summary=first.summary or second.summary,
            attributes=values.within(merged, "attributes", self._limits.attributes_bytes),
        )

    def _named(self, given: str) -> ExtractedNode | None:
        return self._by_name.get(self._name_of.get(given, normalise(given)))

    def _endpoint(self, given: str, field: str, path: str) -> ExtractedNode:
        found = self._named(given)
        if found is not None:
            return found
        if len(self._by_name) >= self._limits.nodes_per_extraction:
            raise Bad(field, f"names a node beyond the {self._limits.nodes_per_extraction} allowed")
        self._notes.put_right(f"{path}.{field}", Trouble.UNLISTED_NAME)
        name = self._name_of[given] = normalise(given)
        self._by_name[name] = ExtractedNode(ref=given, name=given, type=UNKNOWN)
        return self._by_name[name]

    def _is_name(self, given: str, fact: str) -> bool:
        """Whether an unlisted text names a thing: the fact says it, or it is written as names are."""
        numbered = _NUMBERED.fullmatch(given)
        handle = _UUID.fullmatch(given) or (numbered and _stem(numbered) in self._stems)
        letters = sum(map(str.isalpha, given))
        if handle or given in self._refs or normalise(given) in _NOBODY or not letters:
            return False
        if _says(fact, given):
            return True
        return letters >= _NAME_LETTERS and "_" not in given and (" " in given or not given[0].islower())


def _text_of(raw: object, field: str) -> str:
    text = raw.get(field) if isinstance(raw, dict) else None
    return text.strip() if isinstance(text, str) else ""


def _counted(refs: Sequence[str]) -> list[str | None]:
    """The ref of each node if most are numbered by their places, as the prompt asks for: n1, n2, n3."""
    found = [(each[1], int(each[2]) - at) for at, ref in enumerate(refs) if (each := _COUNTED.fullmatch(ref))]
    if not found:
        return [None] * len(refs)
    (stem, first), times = Counter(found).most_common(1)[0]
    return [f"{stem}{first + at}" if 2 * times > len(refs) else None for at in range(len(refs))]


def _stem(numbered: re.Match[str]) -> str:
    return numbered.group(1).casefold().rstrip(" _-:#")


def _says(fact: str, name: str) -> bool:
    """Whether `fact` holds `name`, as whole words where it is written in Latin letters."""
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(normalise(name))}(?![a-z0-9])", normalise(fact)))
