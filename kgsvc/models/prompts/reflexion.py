"""The reflexion prompt: what did an extraction miss? It goes on from the extraction's own messages."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kgsvc.domain.model.extraction import Extraction

VERSION = "reflexion/1"  # raise it with every change of these texts


def messages(asked: Sequence[dict[str, str]], found: Extraction) -> list[dict[str, str]]:
    """`asked` (the extraction's messages), what was found so far in short, and the question what is missing.

    The refs of `found` are n1, n2 … in the order of its nodes.
    """
    return [
        *asked,
        {"role": "assistant", "content": _shortened(found)},
        {"role": "user", "content": _question(len(found.nodes) + 1)},
    ]


def _shortened(found: Extraction) -> str:
    nodes = [{"ref": node.ref, "name": node.name, "type": node.type} for node in found.nodes]
    edges = [
        {"name": edge.name, "fact": edge.fact, "source_ref": edge.source_ref, "target_ref": edge.target_ref}
        for edge in found.edges
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False)


def _question(following: int) -> str:
    return f"""\
That is what was found so far, shortened. Read "body" again, from beginning to end, by the same rules. Which
entities and which facts are missing?
Answer in the same form with the missing ones alone: new nodes with the refs n{following}, n{following + 1}
and so on; edges between new nodes and those above, by their refs. Repeat nothing, reword nothing, invent
nothing. If nothing is missing, both lists are empty."""
