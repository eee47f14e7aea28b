"""Several extractions of one episode, from its parts or from second looks, made one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kgsvc.domain.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.limits import Limits
from kgsvc.domain.text import normalise
from kgsvc.llm.openai.validation import UNKNOWN, edge_identity


def merged(extractions: Iterable[Extraction], limits: Limits) -> Extraction:
    """Each name one node, numbered n1, n2 …; each statement once. Nodes and edges beyond `limits` are left
    out, the later ones first, with the edges of nodes left out."""
    nodes: dict[str, ExtractedNode] = {}
    edges: dict[object, ExtractedEdge] = {}
    for extraction in extractions:
        refs: dict[str, str] = {}
        for node in extraction.nodes:
            key = normalise(node.name)
            if key in nodes:
                nodes[key] = _completed(nodes[key], node)
            elif len(nodes) < limits.nodes_per_extraction:
                nodes[key] = replace(node, ref=f"n{len(nodes) + 1}")
            else:
                continue
            refs[node.ref] = nodes[key].ref
        for edge in extraction.edges:
            if edge.source_ref in refs and edge.target_ref in refs:
                linked = replace(edge, source_ref=refs[edge.source_ref], target_ref=refs[edge.target_ref])
                edges.setdefault(edge_identity(linked), linked)
    kept = tuple(edges.values())[: limits.edges_per_extraction]
    return Extraction(tuple(nodes.values()), kept)


def _completed(first: ExtractedNode, second: ExtractedNode) -> ExtractedNode:
    """What the first leaves open comes from the second; both were validated, and nothing grows."""
    return replace(
        first,
        type=second.type if first.type in {"Entity", UNKNOWN} else first.type,
        summary=first.summary or second.summary,
        attributes=first.attributes or second.attributes,
    )
