"""The plots of docs/, from the results of the benchmarks.

    python -m bench.plots RESULTS.json [RESULTS.json ...] [--to docs]

Reads what bench.beside_graphiti, bench.scale and bench.recall wrote with --out, draws what there is figures
for. The same results give the same files, byte by byte.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Results = Mapping[str, Any]
_STYLE = {
    "svg.hashsalt": "kgsvc",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "font.size": 11,
}
_OURS, _OURS_TOO, _THEIRS = "#1f6f8b", "#7fb7be", "#c8553d"
_UNDATED = {"Date": None, "Creator": None}


def merged(documents: Sequence[Results]) -> dict[str, Any]:
    """One document of several: lists are joined, of anything else the last that says something counts."""
    whole: dict[str, Any] = {}
    for document in documents:
        for name, value in document.items():
            if isinstance(value, list):
                whole[name] = [*whole.get(name, []), *value]
            elif value is not None:
                whole[name] = value
    return whole


def search_beside_graphiti(axes: Any, results: Results) -> None:
    """p50 of a search by the size of the group."""
    rows = results["search"]
    sizes = [row["facts"] for row in rows]
    for name, label, colour in (
        ("graphiti", "Graphiti", _THEIRS),
        ("kgsvc_cold", "kgsvc, nothing in memory", _OURS_TOO),
        ("kgsvc", "kgsvc", _OURS),
    ):
        axes.plot(sizes, [row[name]["p50_ms"] for row in rows], marker="o", color=colour, label=label)
    axes.set(xscale="log", yscale="log", xlabel="facts in the group", ylabel="p50 of a search, ms")
    axes.set_title("Hybrid search, 10 results, one Neo4j")
    axes.legend()


def search_by_size(axes: Any, results: Results) -> None:
    """p50 and p99 of searches by the size of the group, on each store."""
    for store, colour in (("embedded", _OURS), ("neo4j", _THEIRS)):
        rows = [row for row in results["sizes"] if row["store"] == store]
        if not rows:
            continue
        sizes = [row["facts"] for row in rows]
        for name, line in (("search_facts", "-"), ("search_graph", "--")):
            label = f"{'SearchFacts' if name == 'search_facts' else 'SearchGraph'}, {store}"
            p50, p99 = ([row[name][share] for row in rows] for share in ("p50_ms", "p99_ms"))
            axes.plot(sizes, p50, line, marker="o", color=colour, label=label)
            axes.fill_between(sizes, p50, p99, color=colour, alpha=0.1)
    axes.set(xscale="log", yscale="log", xlabel="facts in the group", ylabel="p50 (shade: to p99), ms")
    axes.set_title("Searches through gRPC, warm")
    axes.legend()


def memory_by_size(axes: Any, results: Results) -> None:
    """What a server holds, and what the store takes on disk."""
    for store, colour in (("embedded", _OURS), ("neo4j", _THEIRS)):
        rows = [row for row in results["sizes"] if row["store"] == store]
        for name, label, line in (
            ("server_mib", "server, resident", "-"),
            ("disk_mib", "store on disk", "--"),
        ):
            shown = [(row["facts"], row[name]) for row in rows if name in row]
            if shown:
                axes.plot(
                    *zip(*shown, strict=True), line, marker="o", color=colour, label=f"{label}, {store}"
                )
    axes.set(xscale="log", yscale="log", xlabel="facts in the group", ylabel="MiB")
    axes.set_title("Memory and disk")
    axes.legend()


def ingest_beside_graphiti(axes: Any, results: Results) -> None:
    """Episodes a second."""
    rows = results["ingest"]
    places = range(len(rows))
    for shift, name, label, colour in (
        (-0.2, "graphiti", "Graphiti", _THEIRS),
        (0.2, "kgsvc", "kgsvc", _OURS),
    ):
        values = [row[name]["episodes_per_s"] for row in rows]
        bars = axes.bar([place + shift for place in places], values, 0.4, color=colour, label=label)
        axes.bar_label(bars, fmt="%.1f")
    axes.set_xticks(list(places), [f"{row['latency_ms']} ms a call of the model" for row in rows])
    axes.set(ylabel="episodes/s into one group")
    axes.set_title("Ingestion, one Neo4j, the same scripted model")
    axes.legend()


PLOTS: dict[str, tuple[str, Callable[[Any, Results], None]]] = {
    "search-beside-graphiti": ("search", search_beside_graphiti),
    "ingest-beside-graphiti": ("ingest", ingest_beside_graphiti),
    "search-by-size": ("sizes", search_by_size),
    "memory-by-size": ("sizes", memory_by_size),
}


def draw(results: Results, folder: Path) -> list[Path]:
    """Every plot that there are figures for; the files."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with plt.rc_context(_STYLE):
        for name, (needs, plot) in PLOTS.items():
            if results.get(needs):
                figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
                plot(axes, results)
                written.append(folder / f"{name}.svg")
                figure.savefig(written[-1], metadata=_UNDATED)
                plt.close(figure)
    return written


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--to", type=Path, default=Path("docs"))
    options = parser.parse_args()
    for path in draw(merged([json.loads(each.read_text()) for each in options.results]), options.to):
        print(path)


if __name__ == "__main__":
    main()
