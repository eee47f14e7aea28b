"""Files of exports: what is written is as published; hostile ones are refused by line and reason, and nothing
of them is written."""

import asyncio
import base64
import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kgsvc.commands.transfer.checking import FileRefused
from kgsvc.commands.transfer.content import TransferError
from kgsvc.commands.transfer.exporting import export
from kgsvc.commands.transfer.importing import import_file
from kgsvc.commands.transfer.rows import schema
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import FactTombstone, MergeRecord
from kgsvc.domain.model.documents import Document, Place, Revision
from kgsvc.runtime import SystemClock
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.documents import REPOSITORY
from tests.support.samples import Scratch, fact

GROUP = "g"
Line = dict[str, Any]
Spoil = Callable[[list[Line]], Any]


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    """A fresh one."""
    made = await EmbeddedStore.open(tmp_path / "store")
    await made.migrate()
    yield made
    await made.close()


async def told(store: EmbeddedStore) -> None:
    """A row of every kind."""
    g = Scratch(store, GROUP)
    await g.accepted(g.episode("e1"), g.episode("e2"))
    ann, bob = g.entity("n1", "Ann"), g.entity("n2", "Bob")
    vectors = {"n1": b"\0\0\x80?" * 4, "f1": b"\0\0\0?" * 4}
    await g.write(
        entities=(ann, bob),
        names={"ann": "n1", "bob": "n2"},
        facts=(fact("f1", ann, bob, "Ann knows Bob"), fact("f2", bob, ann, "Bob knows Ann")),
        mentions=(g.mention("e1", "n1"), g.mention("e1", "n2")),
        vectors=vectors,
        space="s",
        reserve_facts=(FactTombstone("f9", "ab", "cd", 5),),
        merges=(MergeRecord("m1", GROUP, "n3", "n1", 7, "{}"),),
    )
    document = Document(GROUP, "d1", (Revision(1, "ab", 1, 2),), 1, chars=9, chunks=1)
    await store.put_document(document, (Place("e2", 0, 9, 0, 3),), 0)


async def written(store: EmbeddedStore, path: Path) -> list[Line]:
    """The lines of an export."""
    await export(store, GROUP, path, {"kgsvc": "0", "exported_ms": 1}, True, lambda _: None)
    return [json.loads(line) for line in (await asyncio.to_thread(path.read_bytes)).splitlines()]


def put(path: Path, lines: list[Line], end: bool = True) -> None:
    """Lines as a file whose last one fits the others."""
    body = "".join(json.dumps(line) + "\n" for line in lines if line["row"] != "end")
    counts: dict[str, int] = {}
    for line in lines:
        if line["row"] not in ("header", "end"):
            counts[line["row"]] = counts.get(line["row"], 0) + 1
    last = {"row": "end", "rows": counts, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    path.write_text(body + (json.dumps(last) + "\n" if end else ""))


def test_the_schema_is_published() -> None:
    published = json.loads((REPOSITORY / "docs" / "export.schema.json").read_text())
    assert published == json.loads(json.dumps(schema())), "python -m scripts.export_schema writes it"


async def test_every_kind_of_row_is_written_and_comes_back(store: EmbeddedStore, tmp_path: Path) -> None:
    await told(store)
    lines = await written(store, tmp_path / "file")
    kinds = ["header", "document", *["entity"] * 2, *["episode"] * 2, "receipt", "tombstone", *["fact"] * 2]
    assert [line["row"] for line in lines] == [*kinds, "merge", "end"]
    assert (tmp_path / "file").stat().st_mode & 0o077 == 0
    other = await EmbeddedStore.open(tmp_path / "other")
    await other.migrate()
    await import_file(other, tmp_path / "file", Limits(), SystemClock(), lambda _: None)
    again = await written(other, tmp_path / "again")
    await other.close()
    own = ("epoch", "rev")  # by which each store counts
    assert [{k: v for k, v in line.items() if k not in own} for line in again[:1]] == [
        {k: v for k, v in line.items() if k not in own} for line in lines[:1]
    ]
    for line in (*lines, *again):
        line.get("item", {}).pop("sequence", None)
    assert again[1:-1] == lines[1:-1]


def of(lines: list[Line], kind: str, number: int = 0) -> Line:
    """A line of a kind."""
    return [line for line in lines if line["row"] == kind][number]


def sets(kind: str, number: int = 0, /, **values: Any) -> Spoil:
    """Another value of a field, of a line of a kind."""
    return lambda lines: of(lines, kind, number).update(values)


def lacks(kind: str, name: str) -> Spoil:
    """A field less."""
    return lambda lines: of(lines, kind).pop(name)


def vector(data: bytes) -> dict[str, str]:
    """A vector of these bytes."""
    return {"space": "s", "data": base64.b64encode(data).decode()}


def undo(**values: Any) -> str:
    """The data of a merge."""
    whole = {
        "entity": {
            **{
                "uuid": "n3",
                "group_id": "g",
                "name": "Zoe",
                "created_ms": 1,
                "summary": "",
                "attributes": {},
            },
            **{"labels": [], "source_episode_uuid": "", "updated_ms": 1, "stamps": {}, "summary_parts": []},
            "rewriting": None,
        },
        **{"names": [], "episodes": [], "mentions": [], "ends": {}, "changed": {}, "made": {}},
        **{"attributes": [], "labels": []},
    }
    return json.dumps({**whole, **values})


DEEP: Any = 1
for _ in range(300):
    DEEP = {"a": DEEP}

# What is done to the lines, in which line it is noticed and why.
HOSTILE: dict[str, tuple[Spoil, int, str]] = {
    "no header": (lambda x: x.pop(0), 1, "row: the first one, and no other, is of kind header"),
    "two headers": (lambda x: x.insert(1, x[0]), 2, "row: the first one, and no other"),
    "a newer format": (sets("header", version=2), 1, "version: is 2"),
    "another format": (sets("header", format="x"), 1, "header.format"),
    "a reserved group": (sets("header", group_id="kgsvc-doctor-x"), 1, "group_id: is not a name"),
    "an invisible group": (sets("header", group_id="a\u200bb"), 1, "group_id: is not a name"),
    "a blank group": (sets("header", group_id=" "), 1, "group_id: is not a name"),
    "a long group": (sets("header", group_id="g" * 129), 1, "group_id: is not a name"),
    "no group": (sets("header", group_id=""), 1, "header.group_id"),
    "a group with a control character": (sets("header", group_id="a\nb"), 1, "header.group_id"),
    "another key": (sets("header", digest_key=5), 1, "digest_key: "),
    "another way to compare names": (sets("header", normaliser=99), 1, "normaliser: "),
    "a field that is not known": (sets("entity", more=1), 3, "entity.more: Extra inputs"),
    "a field less": (lacks("entity", "uuid"), 3, "entity.uuid: Field required"),
    "a kind that is not known": (sets("entity", row="person"), 3, "row: is none of the kinds"),
    "no kind": (lambda x: of(x, "entity").update(row=None), 3, "row: is none of the kinds"),
    "a number as text": (sets("entity", created_ms="1"), 3, "entity.created_ms: "),
    "a text as number": (sets("entity", name=1), 3, "entity.name: "),
    "a time far off": (sets("entity", created_ms=10**18), 3, "entity.created_ms: "),
    "a number that is no integer": (sets("entity", created_ms=1.5), 3, "entity.created_ms: "),
    "null": (sets("entity", name=None), 3, "entity.name: "),
    "an empty uuid": (sets("entity", uuid=""), 3, "entity.uuid: "),
    "a long uuid": (sets("entity", uuid="u" * 257), 3, "entity.uuid: "),
    "a uuid with a control character": (sets("entity", uuid="a\0"), 3, "entity.uuid: "),
    "attributes that are a list": (sets("entity", attributes=[]), 3, "entity.attributes: "),
    "attributes without end": (sets("entity", attributes=DEEP), 3, "is no JSON object"),
    "an infinite attribute": (sets("entity", attributes={"a": float("inf")}), 3, "entity.attributes: "),
    "an attribute that is no number": (
        sets("entity", attributes={"a": float("nan")}),
        3,
        "entity.attributes: ",
    ),
    "a stamp that is none": (sets("entity", stamps={"name": "later"}), 3, "entity.stamps.name: "),
    "a name as it is written": (sets("entity", names=["Ann"]), 3, "entity.names: "),
    "an empty name": (sets("entity", names=[""]), 3, "entity.names: "),
    "a name of two": (sets("entity", 1, names=["ann"]), 4, "names.0: leads to another entity"),
    "a name twice": (sets("entity", names=["ann", "ann"]), 3, "names.1: leads to another"),
    "a uuid twice": (sets("entity", 1, uuid="n1"), 4, "uuid: is not behind that of the row before"),
    "rows out of order": (sets("entity", uuid="n9"), 4, "uuid: is not behind that of the row before"),
    "kinds out of order": (lambda x: x.insert(8, x.pop(6)), 9, "row: receipt comes too late"),
    "a vector that is no base64": (
        sets("entity", vector={"space": "s", "data": "!"}),
        3,
        "entity.vector.data: ",
    ),
    "half a number": (sets("entity", vector=vector(b"\0" * 7)), 3, "entity.vector.data: "),
    "an empty vector": (sets("entity", vector=vector(b"")), 3, "entity.vector.data: "),
    "a vector that is not finite": (
        sets("entity", vector=vector(b"\0\0\x80\x7f")),
        3,
        "entity.vector.data: ",
    ),
    "a source that is not known": (sets("episode", source="dream"), 5, "episode.source: "),
    "a role that is not known": (sets("episode", role_type="king"), 5, "episode.role_type: "),
    "a state that is not known": (
        lambda x: of(x, "episode")["item"].update(state="lost"),
        5,
        "episode.item.state: ",
    ),
    "a deleted item": (lambda x: of(x, "episode")["item"].update(state="deleted"), 5, "episode.item.state: "),
    "no item": (lacks("episode", "item"), 5, "episode.item: Field required"),
    "attempts below none": (
        lambda x: of(x, "episode")["item"].update(attempts={"extract": -1}),
        5,
        "episode.item.attempts.extract: ",
    ),
    "attempts at something else": (
        lambda x: of(x, "episode")["item"].update(attempts={"guess": 1}),
        5,
        "episode.item.attempts.guess",
    ),
    "a sequence too large": (
        lambda x: of(x, "episode")["item"].update(sequence=2**63),
        5,
        "episode.item.sequence: ",
    ),
    "a hash that is none": (sets("episode", content_hash="xyz"), 5, "episode.content_hash: "),
    "an entity that is not there": (
        lambda x: of(x, "episode")["mentions"][0].update(entity_uuid="n7"),
        5,
        "mentions.0.entity_uuid: names no entity",
    ),
    "an entity named twice": (
        lambda x: of(x, "episode")["mentions"][1].update(entity_uuid="n1"),
        5,
        "mentions.1.entity_uuid: is named twice",
    ),
    "a receipt without items": (lacks("receipt", "items"), 7, "receipt.items: Field required"),
    "a receipt of objects": (sets("receipt", items=[1]), 7, "receipt.items.0: "),
    "a tombstone with words": (sets("tombstone", fact="Ann knows Bob"), 8, "tombstone.fact: "),
    "a fact from nowhere": (sets("fact", source_uuid="n7"), 9, "source_uuid: names no entity"),
    "a fact to nowhere": (sets("fact", target_uuid="n7"), 9, "target_uuid: names no entity"),
    "a slot that is no digest": (sets("fact", slot="Ann"), 9, "fact.slot: "),
    "a kind of fact that is not known": (sets("fact", kind="rumour"), 9, "fact.kind: "),
    "a negative weight": (sets("fact", weight=-1), 9, "fact.weight: "),
    "an infinite weight": (sets("fact", weight=float("inf")), 9, "fact.weight: "),
    "a statement without a time": (
        sets("fact", evidence=[{"episode_uuid": "e1"}]),
        9,
        "fact.evidence.0.start_ms: ",
    ),
    "a statement that says nothing known": (
        sets("fact", evidence=[{"episode_uuid": "e", "start_ms": 1, "reference_ms": 1, "says": "maybe"}]),
        9,
        "fact.evidence.0.says: ",
    ),
    "a closure without a time": (sets("fact", closures=[{}]), 9, "fact.closures.0.at_ms: "),
    "a belief without an end": (sets("fact", beliefs=[{}]), 9, "fact.beliefs.0.until_ms: "),
    "qualifiers that are numbers": (sets("fact", qualifiers={"a": 1}), 9, "fact.qualifiers.a: "),
    "a merge that is no JSON": (sets("merge", data="{"), 11, "merge.data: is no record of a merge"),
    "a merge of something else": (
        sets("merge", data='{"secret": 1}'),
        11,
        "merge.data: is no record of a merge",
    ),
    "half a merge": (sets("merge", data='{"made": {}}'), 11, "merge.data: is no record"),
    "a merge of a fact that changes more": (
        sets(
            "merge",
            data=undo(
                changed={
                    "f1": {
                        "before": [],
                        "after": [],
                        "closures": [],
                        "expiry": {"uuid": "x"},
                        "reason_after": None,
                    }
                }
            ),
        ),
        11,
        "merge.data: is no record",
    ),
    "a merge of an entity that is none": (sets("merge", data=undo(entity={"uuid": "x"})), 11, "merge.data: "),
    "half a split": (sets("merge", data='{"split": "n1", "made": {}}'), 11, "merge.data: is no record"),
    "a document without a text": (sets("document", revisions=[]), 2, "document.revisions: "),
    "a document of another text": (sets("document", current=2), 2, "document: current names no revision"),
    "a place that ends before it begins": (
        sets("document", places=[{"chunk_uuid": "e2", "start": 9, "end": 1, "own_start": 9, "tokens": 1}]),
        2,
        "places.0: ends before it begins",
    ),
    "a place before the text": (
        sets("document", places=[{"chunk_uuid": "e2", "start": -1, "end": 1, "own_start": 0, "tokens": 1}]),
        2,
        "document.places.0.start: ",
    ),
    "former texts twice": (
        sets("document", former=[{"revision": 1, "places": []}] * 2),
        2,
        "former: is not in order of revisions",
    ),
    "an ontology that is none": (
        lambda x: x.insert(1, {"row": "ontology", "yaml": "graphiti: [1]"}),
        2,
        "yaml: ",
    ),
    "an ontology that is no YAML": (lambda x: x.insert(1, {"row": "ontology", "yaml": "a: [b"}), 2, "yaml: "),
    "an ontology too late": (
        lambda x: x.insert(2, {"row": "ontology", "yaml": "graphiti:\n  entity_types: []\n"}),
        3,
        "row: ontology comes too late",
    ),
    "a header with more": (sets("header", more=1), 1, "header.more: Extra inputs"),
    "a revision below none": (sets("header", rev=-1), 1, "header.rev: "),
    "an export of a time far off": (sets("header", exported_ms=10**18), 1, "header.exported_ms: "),
    "a place with more": (
        lambda x: of(x, "document")["places"][0].update(more=1),
        2,
        "document.places.0.more: Extra inputs",
    ),
    "labels that are a text": (sets("entity", labels="Person"), 3, "entity.labels: "),
    "labels that are numbers": (sets("entity", labels=[1]), 3, "entity.labels.0: "),
    "an item with more": (
        lambda x: of(x, "episode")["item"].update(more=1),
        5,
        "episode.item.more: Extra inputs",
    ),
    "an item of a time far off": (
        lambda x: of(x, "episode")["item"].update(updated_ms=10**18),
        5,
        "episode.item.updated_ms: ",
    ),
    "a mention with more": (
        lambda x: of(x, "episode")["mentions"][0].update(more=1),
        5,
        "episode.mentions.0.more: Extra inputs",
    ),
    "a mention without an entity": (
        lambda x: of(x, "episode")["mentions"][0].pop("entity_uuid"),
        5,
        "episode.mentions.0.entity_uuid: Field required",
    ),
    "a time that is a truth": (sets("episode", reference_ms=True), 5, "episode.reference_ms: "),
    "a receipt of a time as text": (sets("receipt", created_ms="1"), 7, "receipt.created_ms: "),
    "a tombstone without a slot": (lacks("tombstone", "slot"), 8, "tombstone.slot: Field required"),
    "a fact without a text": (lacks("fact", "fact"), 9, "fact.fact: Field required"),
    "a fact without an end": (lacks("fact", "target_uuid"), 9, "fact.target_uuid: Field required"),
    "a fact that begins far off": (sets("fact", valid_ms=10**18), 9, "fact.valid_ms: "),
    "a polarity that is not known": (sets("fact", polarity="perhaps"), 9, "fact.polarity: "),
    "facts out of order": (sets("fact", uuid="zzz"), 10, "uuid: is not behind that of the row before"),
    "a merge without data": (lacks("merge", "data"), 11, "merge.data: Field required"),
    "a merge of a time as text": (sets("merge", created_ms="1"), 11, "merge.created_ms: "),
    "a merge with more": (sets("merge", more=1), 11, "merge.more: Extra inputs"),
}


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_a_hostile_file_is_refused_and_nothing_is_written(
    store: EmbeddedStore, tmp_path: Path, hostile: str
) -> None:
    spoil, number, reason = HOSTILE[hostile]
    await told(store)
    lines = await written(store, tmp_path / "file")
    spoil(lines)
    put(tmp_path / "hostile", lines)
    await refused(tmp_path, number, reason)


async def refused(folder: Path, number: int, reason: str) -> None:
    """The file `hostile` is, by this line and reason, and the store stays as it was."""
    other = await EmbeddedStore.open(folder / "other")
    await other.migrate()
    with pytest.raises(FileRefused) as error:
        await import_file(other, folder / "hostile", Limits(), SystemClock(), lambda _: None)
    assert str(error.value).startswith(f"line {number}: {reason}"), str(error.value)
    assert "\n" not in str(error.value)
    assert await other.group_ids() == []
    assert await other.heads([GROUP]) == {}
    await other.close()


BYTES: dict[str, tuple[Callable[[bytes], bytes], int, str]] = {
    "nothing": (lambda _: b"", 1, "is missing"),
    "no JSON": (lambda _: b"PK\x03\x04\n", 1, "is no JSON object"),
    "no UTF-8": (lambda all_: all_.replace(b'"Ann"', b'"\xff\xfe"'), 3, "is no JSON object"),
    "a lone surrogate": (lambda all_: all_.replace(b'"Ann"', b'"\\ud800"'), 3, "is no JSON object"),
    "an array": (lambda all_: b"[1]\n" + all_, 1, "Input should be an object"),
    "an empty line": (lambda all_: all_.replace(b"\n", b"\n\n", 1), 2, "is no JSON object"),
    "cut in a line": (lambda all_: all_[:-40], 12, "has no line break at its end"),
    "cut between lines": (lambda all_: all_[: all_.rindex(b'{"row":"end"')], 12, "is missing: the file ends"),
    "more behind the end": (
        lambda all_: all_ + all_[: all_.index(b"\n") + 1],
        13,
        "stands behind the last row",
    ),
    "another name": (lambda all_: all_.replace(b"Ann knows", b"Eve knows"), 12, "sha256: is not that"),
    "a line less": (
        lambda all_: b"".join(line for line in all_.splitlines(True) if b'"tombstone"' not in line[:20]),
        11,
        "rows.tombstone: says 1, there are 0",
    ),
    "a huge integer": (
        lambda all_: all_.replace(b'"created_ms":', b'"created_ms":9' + b"9" * 5_000, 1),
        2,
        "",
    ),
}


@pytest.mark.parametrize("damaged", BYTES)
async def test_a_damaged_file_is_refused_and_nothing_is_written(
    store: EmbeddedStore, tmp_path: Path, damaged: str
) -> None:
    spoil, number, reason = BYTES[damaged]
    await told(store)
    await written(store, tmp_path / "file")
    (tmp_path / "hostile").write_bytes(spoil((tmp_path / "file").read_bytes()))
    await refused(tmp_path, number, reason)


class Stopped(Exception):
    """What ends a run in the middle."""


async def many(store: EmbeddedStore) -> None:
    """Some pages of each of the larger kinds."""
    g = Scratch(store, GROUP)
    people = [g.entity(f"n{n:04}", f"Person {n}") for n in range(1_200)]
    await g.write(entities=tuple(people))
    await g.accepted(*[g.episode(f"e{n:04}") for n in range(160)])
    rows = tuple(fact(f"f{n:04}", people[n % 1_200], people[n // 2]) for n in range(2_200))
    await g.write(facts=rows)


async def test_an_export_that_was_interrupted_goes_on(store: EmbeddedStore, tmp_path: Path) -> None:
    await many(store)
    whole = tmp_path / "whole"
    await written(store, whole)
    content = await asyncio.to_thread(whole.read_bytes)
    for part in range(1, 11):  # wherever it was cut, also in the middle of a line
        path = tmp_path / f"file-{part}"
        await asyncio.to_thread(
            (tmp_path / f"file-{part}.partial").write_bytes, content[: len(content) * part // 11]
        )
        await written(store, path)
        assert await asyncio.to_thread(path.read_bytes) == content
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".partial")]


async def test_an_export_does_not_go_on_with_what_is_not_its_own(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    await told(store)
    whole = tmp_path / "whole"
    before = await written(store, whole)
    former = json.dumps({**before[0], "rev": 99}, separators=(",", ":")).encode()
    others = (former + b"\n", former[:40], b"")
    for number, other in enumerate(others):
        await asyncio.to_thread((tmp_path / f"{number}.partial").write_bytes, other)
        assert await written(store, tmp_path / str(number)) == before
    diary = tmp_path / "diary.partial"
    await asyncio.to_thread(diary.write_bytes, b"my diary\n")
    with pytest.raises(TransferError, match="is no export that was begun"):
        await written(store, tmp_path / "diary")
    assert await asyncio.to_thread(diary.read_bytes) == b"my diary\n"


async def test_a_group_that_changes_is_not_exported(store: EmbeddedStore, tmp_path: Path) -> None:
    await many(store)
    loop = asyncio.get_running_loop()
    changing: list[asyncio.Task[Any]] = []

    def change(_rows: int) -> None:
        if not changing:
            changing.append(loop.create_task(Scratch(store, GROUP).pair()))

    with pytest.raises(TransferError, match="changed while it was exported"):
        await export(store, GROUP, tmp_path / "f", {"kgsvc": "0", "exported_ms": 1}, True, change)
    await changing[0]
    assert sorted(os.listdir(tmp_path)) == ["store"]
    with pytest.raises(TransferError, match="there is no group"):
        await export(store, "nobody", tmp_path / "f", {"kgsvc": "0", "exported_ms": 1}, True, change)


async def test_an_import_that_was_interrupted_goes_on(store: EmbeddedStore, tmp_path: Path) -> None:
    await many(store)
    expected = (await written(store, tmp_path / "whole"))[1:-1]
    other = await EmbeddedStore.open(tmp_path / "other")
    await other.migrate()
    seen: list[int] = []

    def stop(rows: int) -> None:
        seen.append(rows)
        if len(seen) <= 10:
            raise Stopped

    for _ in range(10):
        with pytest.raises(Stopped):
            await import_file(other, tmp_path / "whole", Limits(), SystemClock(), stop)
        assert await other.group_ids() == []
    await import_file(other, tmp_path / "whole", Limits(), SystemClock(), stop)
    assert seen == sorted(set(seen)), "nothing was written twice"
    again = (await written(other, tmp_path / "again"))[1:-1]
    await other.close()
    for line in (*expected, *again):
        line.get("item", {}).pop("sequence", None)
    assert again == expected


class Meddling(SystemClock):
    """Changes a file between the check of it and the import, when the time is asked for."""

    def __init__(self, number: int, place: int) -> None:
        self._number = number
        self._place = place

    def now_ms(self) -> int:
        """The time."""
        os.pwrite(self._number, b"8", self._place)
        return super().now_ms()


async def test_a_file_that_changes_while_it_is_read_is_not_imported(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    await many(store)
    path = tmp_path / "whole"
    await written(store, path)
    other = await EmbeddedStore.open(tmp_path / "other")
    await other.migrate()
    place = (await asyncio.to_thread(path.read_bytes)).rindex(b"by f2199") + 7
    number = await asyncio.to_thread(os.open, path, os.O_RDWR)
    with pytest.raises(TransferError, match="changed while it was read"):
        await import_file(other, path, Limits(), Meddling(number, place), lambda _: None)
    await asyncio.to_thread(os.close, number)
    assert await other.group_ids() == []
    await other.close()


async def test_vectors_may_be_left_out(store: EmbeddedStore, tmp_path: Path) -> None:
    await told(store)
    await export(store, GROUP, tmp_path / "f", {"kgsvc": "0", "exported_ms": 1}, False, lambda _: None)
    lines = [json.loads(line) for line in (await asyncio.to_thread((tmp_path / "f").read_bytes)).splitlines()]
    assert not [line for line in lines if "vector" in line or "passages" in line]
