"""How much memory and time `kgsvc export` and `kgsvc import` take for a group of many facts.

    python -m bench.moving_groups [FACTS]

Fills an embedded store in a folder of its own, then runs both commands and reads the most memory of each.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Entity, Evidence, Fact
from kgsvc.domain.model.keys import digest
from kgsvc.stores.embedded import EmbeddedStore

GROUP = "moved"
A_WRITE = 2_000
A_PERSON = 5  # facts for each entity
_AT_MS = 1_700_000_000_000


def main(arguments: list[str]) -> None:
    """The command line of this file."""
    if arguments[:1] == ["fill"]:
        asyncio.run(fill(Path(arguments[1]), int(arguments[2])))
        return
    facts = arguments[0] if arguments else "1000000"
    with tempfile.TemporaryDirectory() as folder:
        source, target, file = (str(Path(folder) / name) for name in ("from", "to", "group.jsonl"))
        measured("fill", "-m", "bench.moving_groups", "fill", source, facts)
        measured("export", "-m", "kgsvc", "export", GROUP, file, "--data", source)
        measured("import", "-m", "kgsvc", "import", file, "--data", target)
        print(f"file: {os.path.getsize(file) / 1024**2:,.0f} MiB")


def measured(name: str, *words: str) -> None:
    """Run Python so, in a process of its own, since a child begins with the memory of its parent; print what
    it took."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, *words])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name} failed")
    took = time.monotonic() - began
    print(f"{name}: {took:,.0f} s, at most {usage.ru_maxrss / 1024:,.0f} MiB of memory", flush=True)


async def fill(directory: Path, facts: int) -> None:
    """A store with one group of so many facts, each with a statement, between a fifth as many entities."""
    store = await EmbeddedStore.open(directory)
    await store.migrate()
    people = max(2, facts // A_PERSON)
    rev = 0
    for first in range(0, people, A_WRITE):
        some = [_person(number) for number in range(first, min(first + A_WRITE, people))]
        names = {entity.name.lower(): entity.uuid for entity in some}
        await store.apply(GraphDelta(GROUP, _AT_MS + rev, entities=tuple(some), names=names), Guard(rev, 0))
        rev += 1
    for first in range(0, facts, A_WRITE):
        rows = tuple(_fact(number, people) for number in range(first, min(first + A_WRITE, facts)))
        await store.apply(GraphDelta(GROUP, _AT_MS + rev, facts=rows), Guard(rev, 0))
        rev += 1
    await store.close()


def _person(number: int) -> Entity:
    return Entity(
        f"entity-{number:032}", GROUP, f"Person {number}", _AT_MS, labels=("Person",), updated_ms=_AT_MS
    )


def _fact(number: int, people: int) -> Fact:
    source, target = number % people, (number * 7 + 1) % people
    text = f"Person {source} met Person {target} for the {number}th time in a town that has a name"
    said = Evidence(_AT_MS + number, _AT_MS + number, f"episode-{number % 100_000:028}")
    return Fact(
        uuid=f"fact-{number:031}",
        group_id=GROUP,
        name="MET",
        fact=text,
        source_uuid=f"entity-{source:032}",
        target_uuid=f"entity-{target:032}",
        source_name=f"Person {source}",
        target_name=f"Person {target}",
        created_ms=_AT_MS,
        reference_ms=_AT_MS + number,
        slot=digest(source, target, number),
        fact_key=digest(number),
        episodes=(said.episode_uuid,),
        evidence=(said,),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
