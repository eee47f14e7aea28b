"""Documents: chunks, revisions, what they withdraw, and what deleting one removes."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kgsvc.v1 import documents_pb2 as doc
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, JAN, MAR, reads_bodies
from tests.support.client import DONE_S, Client, timestamp
from tests.support.contract import request_of
from tests.support.scripted_openai import Outcome, Request, ScriptedOpenAI, answer, edge, node, status

SETTINGS = {"documents.token_size": "64", "documents.overlap": "8"}
_SAID = re.compile(r"<(\w+) (\w+) (\w+)>")


def SCRIPT(request: Request) -> Outcome | Mapping[str, Any]:
    """Reads `<Ann KNOWS Bob>` as a fact, whatever stands around it."""
    if request.endpoint == "embeddings" or not request.text or request.resolution is not None:
        return reads_bodies(request)
    said = _SAID.findall(request.text)
    names = {name: f"n{at}" for at, name in enumerate(dict.fromkeys(n for a, _, b in said for n in (a, b)))}
    nodes = [node(ref, name) for name, ref in names.items()]
    edges = [edge(r, f"{a} {r.lower()} {b}", names[a], names[b]) for a, r, b in said]
    return answer(nodes, edges)


def paragraph(number: int, *facts: str) -> str:
    """Some thirty words, with facts among them."""
    filler = (
        f"This is paragraph number {number} of the handbook, which goes on for a while so that it is long."
    )
    return " ".join([filler, *(f"<{fact}>" for fact in facts), f"So much for number {number}."])


def text(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs) + "\n"


BOOK = [paragraph(n, f"Person{n} KNOWS Friend{n}") for n in range(20)]


async def add(client: Client, group: str, content: str, at_ms: int = JAN, **more: Any) -> doc.AddedDocument:
    item = doc.DocumentItem(text=content, reference_time=timestamp(at_ms), **{"document_id": "book", **more})
    output: doc.AddDocumentsOutput = await client.ask("AddDocuments", group_id=group, documents=[item])
    (added,) = output.documents
    return added


async def read(client: Client, group: str, content: str, at_ms: int = JAN, **more: Any) -> doc.AddedDocument:
    """Add a document and wait until it is read and settled."""
    added = await add(client, group, content, at_ms, **more)
    for receipt in added.receipt_ids:
        await client.wait_receipt(receipt)
    await settled(client, group, added.document_id)
    return added


async def settled(client: Client, group: str, document_id: str = "book") -> doc.Document:
    async with asyncio.timeout(DONE_S):
        while True:
            asked: doc.GetDocumentOutput = await client.ask(
                "GetDocument", group_id=group, document_id=document_id
            )
            found = asked.document
            if found.settled and found.state == doc.DOCUMENT_STATE_PROCESSED:
                return found
            await asyncio.sleep(0.05)


async def chunks(
    client: Client, group: str, document_id: str = "book", **more: Any
) -> list[doc.DocumentChunk]:
    asked = {"group_id": group, "document_id": document_id, "include_chunks": True, "page_size": 7}
    pages = client.pages("GetDocument", **asked, **more)
    return [each async for page in pages for each in page.chunks]


def whole(placed: Sequence[doc.DocumentChunk]) -> str:
    """The text that chunks stand for: their own parts put end to end."""
    return "".join(each.content[each.own_start - each.start :] for each in placed)


async def current(client: Client, group: str, words: str = "knows") -> dict[str, typ.FactResult]:
    """Facts that hold and are found by these words, by text."""
    found = await client.search(group, words, max_facts=100)
    return {each.fact: each for each in found}


async def test_a_document_becomes_chunks_that_know_their_place(client: Client, group: str) -> None:
    content = text(*BOOK)
    added = await read(client, group, content, title="Handbook", source_url="https://docs.example/h")
    assert (added.arrival, added.revision) == (doc.DOCUMENT_ARRIVAL_NEW, 1)
    placed = await chunks(client, group)
    assert len(placed) == added.chunks == added.new_chunks > 5
    assert [each.chunk_order_index for each in placed] == list(range(len(placed)))
    assert whole(placed) == content
    assert all(content[each.start : each.end] == each.content and each.tokens for each in placed)
    found = (await client.ask("GetDocument", group_id=group, document_id="book")).document
    assert (found.chars, found.chunks_in_graph, found.title) == (len(content), len(placed), "Handbook")
    facts = await current(client, group)
    cited = {uuid for fact in facts.values() for uuid in fact.episodes}
    assert len(facts) == len(BOOK)
    assert cited == {each.chunk_id for each in placed if "KNOWS" in each.content}


async def test_chunks_are_no_context_of_messages_and_listed_only_with_their_document(
    client: Client, group: str
) -> None:
    await read(client, group, text(*BOOK[:3]))
    assert await client.get_episodes(group) == []


async def test_headings_and_title_are_told_to_the_model(
    client: Client, group: str, model: ScriptedOpenAI
) -> None:
    content = f"# Staff\n\n{paragraph(1)}\n\n## Cooks\n\n{paragraph(2, 'Zoe COOKS_FOR Mia')}\n"
    await read(client, group, content, title="Handbook")
    (cooks,) = [each for each in await chunks(client, group) if "Zoe" in each.content]
    assert list(cooks.headings) in (["Staff"], ["Staff", "Cooks"])
    asked = [str(each.body) for each in model.requests if "Zoe COOKS_FOR" in each.text]
    assert any("Handbook \\u203a Staff" in each or "Handbook › Staff" in each for each in asked)


async def test_equal_texts_keep_both_places_and_are_read_once(client: Client, group: str) -> None:
    same = "\n\n".join([paragraph(0, "Ann KNOWS Bob")] * 12)
    added = await read(client, group, same)
    placed = await chunks(client, group)
    assert whole(placed) == same
    assert len({each.chunk_id for each in placed}) == added.new_chunks < len(placed)


async def test_the_same_text_again_adds_nothing_and_asks_no_model(
    client: Client, group: str, model: ScriptedOpenAI
) -> None:
    await read(client, group, text(*BOOK[:6]))
    calls = len(model.requests)
    again = await add(client, group, text(*BOOK[:6]), MAR)
    assert (again.arrival, again.new_chunks, list(again.receipt_ids)) == (
        doc.DOCUMENT_ARRIVAL_UNCHANGED, 0, [],
    )  # fmt: skip
    assert len(model.requests) == calls


async def test_a_changed_paragraph_is_read_anew_and_withdraws_what_only_it_said(
    client: Client, group: str, model: ScriptedOpenAI
) -> None:
    before = [*BOOK[:9], paragraph(9, "Ann KNOWS Bob", "Old KNOWS Gone"), *BOOK[10:]]
    after = [*BOOK[:9], paragraph(9, "Ann KNOWS Bob", "New KNOWS Here"), *BOOK[10:]]
    first = await read(client, group, text(*before))
    known = await current(client, group)
    old_chunks = {each.chunk_id for each in await chunks(client, group)}
    at = known["Old knows Gone"].created_at
    calls = list(model.chats)
    revised = await read(client, group, text(*after), FEB)
    touched = {each.chunk_id for each in await chunks(client, group)} - old_chunks
    assert (revised.arrival, revised.revision) == (doc.DOCUMENT_ARRIVAL_REVISED, 2)
    assert revised.new_chunks == len(touched) <= 2 < first.chunks
    assert len([each for each in model.chats[len(calls) :] if each.resolution is None]) == len(touched)
    now = await current(client, group)
    assert "Old knows Gone" not in now
    assert "New knows Here" in now
    ann = now["Ann knows Bob"]
    assert ann.uuid == known["Ann knows Bob"].uuid
    assert set(ann.episodes) <= touched
    for each in BOOK[:9]:
        name = _SAID.findall(each)[0]
        words = f"{name[0]} knows {name[2]}"
        assert (now[words].uuid, list(now[words].episodes)) == (
            known[words].uuid, list(known[words].episodes),
        )  # fmt: skip
    assert ann.reference_time == known["Ann knows Bob"].reference_time
    filters = ret.SearchFilters(known_as_of=at)
    rrf = ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_RRF
    then = await client.ask(
        "SearchGraph", group_ids=[group], query="Old knows Gone", recipe=rrf, filters=filters, max_results=50
    )
    told = {each.fact.fact for each in then.facts}
    assert "Old knows Gone" in told
    assert "New knows Here" not in told
    gone = await client.ask("GetEntityEdge", uuid=known["Old knows Gone"].uuid, group_id=group)
    assert gone.expired_reason == "withdrawn"


async def test_a_word_at_the_very_start_reads_one_chunk(client: Client, group: str) -> None:
    await read(client, group, text(*BOOK))
    assert (await read(client, group, "Hello. " + text(*BOOK), FEB)).new_chunks == 1
    assert whole(await chunks(client, group)) == "Hello. " + text(*BOOK)


async def test_a_text_of_an_earlier_time_does_not_become_the_present_one(client: Client, group: str) -> None:
    await read(client, group, text(*BOOK[:4]), FEB)
    late = await add(client, group, text(*BOOK[4:8]), JAN)
    assert (late.arrival, late.revision, late.new_chunks) == (doc.DOCUMENT_ARRIVAL_OUTDATED, 1, 0)
    assert whole(await chunks(client, group)) == text(*BOOK[:4])
    assert (await add(client, group, text(*BOOK[4:8]), JAN)).arrival == doc.DOCUMENT_ARRIVAL_UNCHANGED


async def test_former_texts_can_be_read_beside_the_present_one(client: Client, group: str) -> None:
    """Whole, as they stood; not those that never counted."""
    former, late, present = text(*BOOK[:9]), text(*BOOK[10:12]), text(BOOK[9], *BOOK[1:9])
    for at, content in ((FEB, former), (JAN, late), (MAR, present)):
        await read(client, group, content, at)
    told: doc.GetDocumentOutput = await client.ask("GetDocument", group_id=group, document_id="book")
    assert [(each.revision, each.readable) for each in told.revisions] == [(1, True), (2, False), (3, True)]
    assert [each.reference_time.ToMilliseconds() for each in told.revisions] == [FEB, JAN, MAR]
    before, now = await chunks(client, group, revision=1), await chunks(client, group, revision=3)
    assert (whole(before), whole(now)) == (former, present)
    assert now == await chunks(client, group)
    kept = {each.chunk_id for each in before} & {each.chunk_id for each in now}
    assert 0 < len(kept) < len(before)
    for number in (2, 4):
        asked = {"group_id": group, "document_id": "book", "include_chunks": True, "revision": number}
        refusal = await refused(client, "GetDocument", request_of("GetDocument", **asked))
        assert (refusal.code, refusal.fields) == ("NOT_FOUND", ("input.revision",))


async def test_a_text_that_comes_back_is_read_and_holds_again(client: Client, group: str) -> None:
    first, second = text(paragraph(0, "Ann KNOWS Bob")), text(paragraph(0, "Ann KNOWS Cid"))
    for at, content in ((JAN, first), (FEB, second), (MAR, first)):
        await read(client, group, content, at)
    assert set(await current(client, group)) == {"Ann knows Bob"}


@pytest.mark.parametrize(
    ("named", "identity"),
    [
        ({"document_id": "d", "source_url": "https://e.example/x", "path": "a.md"}, "d"),
        ({"document_id": None, "source_url": "https://e.example/x", "path": "a.md"}, "https://e.example/x"),
        ({"document_id": None, "path": "notes/a.md"}, "notes/a.md"),
        ({"document_id": None}, "sha:"),
    ],
)
async def test_a_document_is_the_same_by_id_then_address_then_path_then_text(
    client: Client, group: str, named: dict[str, Any], identity: str
) -> None:
    added = await add(client, group, text(BOOK[0]), **named)
    assert added.document_id.startswith(identity)
    again = await add(client, group, text(BOOK[0]), MAR, **named)
    assert (again.document_id, again.arrival) == (added.document_id, doc.DOCUMENT_ARRIVAL_UNCHANGED)


async def test_deleting_a_document_takes_what_only_it_said(client: Client, group: str) -> None:
    shared = paragraph(1, "Ann KNOWS Bob")
    await read(client, group, text(shared, BOOK[2]))
    await read(client, group, text(shared), document_id="other")
    deleted = await client.ask("DeleteDocument", group_id=group, document_id="book")
    assert deleted.success
    assert deleted.erasure_id
    assert set(await current(client, group)) == {"Ann knows Bob"}
    missing = await client.answer("GetDocument", group_id=group, document_id="book")
    assert missing.error.error_code == "NOT_FOUND"
    listed = (await client.ask("ListDocuments", group_id=group)).documents
    assert [each.document_id for each in listed] == ["other"]
    receipt = (await client.ask("GetErasure", erasure_id=deleted.erasure_id)).erasure
    assert (receipt.kind, receipt.removed["documents"]) == ("document", 1)
    assert receipt.removed["episodes"] >= 1
    again = await client.ask("DeleteDocument", group_id=group, document_id="book")
    assert again.success
    assert not again.erasure_id


async def test_a_chunk_cannot_be_deleted_alone(client: Client, group: str) -> None:
    await read(client, group, text(BOOK[0]))
    (placed,) = await chunks(client, group)
    for cascade in (False, True):
        response = await client.answer("DeleteEpisode", uuid=placed.chunk_id, group_id=group, cascade=cascade)
        assert response.error.error_code == "INVALID_ARGUMENT"
        assert "DeleteDocument" in response.error.message


async def test_documents_are_listed_in_pages(client: Client, group: str) -> None:
    for name in "cab":
        await add(client, group, text(BOOK[0], name), document_id=name)
    pages = [page async for page in client.pages("ListDocuments", group_id=group, page_size=2)]
    assert [[each.document_id for each in page.documents] for page in pages] == [["a", "b"], ["c"]]


async def test_a_document_whose_chunk_is_parked_says_so(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(status(400), match="Friend3", times=None)
    added = await add(client, group, text(*BOOK[:6]))
    for receipt in added.receipt_ids:
        await client.wait_receipt(receipt)
    found = (await client.ask("GetDocument", group_id=group, document_id="book")).document
    assert (found.state, found.chunks_parked > 0, bool(found.reason)) == (
        doc.DOCUMENT_STATE_FAILED,
        True,
        True,
    )


async def test_a_key_stands_for_the_same_documents(client: Client, group: str) -> None:
    one, other = (
        doc.DocumentItem(text=text(BOOK[n]), reference_time=timestamp(JAN), document_id="d") for n in (0, 1)
    )
    await client.ask("AddDocuments", "key", group_id=group, documents=[one])
    await client.ask("AddDocuments", "key", group_id=group, documents=[one])
    response = await client.answer("AddDocuments", "key", group_id=group, documents=[other])
    assert response.error.error_code == "CONFLICT"


async def test_bad_documents_are_refused_by_field_and_reason(client: Client, group: str) -> None:
    when = timestamp(JAN)
    broken = doc.DocumentItem(path="a.pdf", data=b"%PDF-1.7 nothing", reference_time=when)
    good = doc.DocumentItem(text="fine", reference_time=when)
    for item, field in (
        (doc.DocumentItem(text="x"), "reference_time"),
        (doc.DocumentItem(reference_time=when), "text"),
        (doc.DocumentItem(text=" \n", reference_time=when), "text"),
        (doc.DocumentItem(text="x", reference_time=when, source_url="nowhere"), "source_url"),
        (doc.DocumentItem(data=b"x", reference_time=when), "data"),
        (broken, "data"),
    ):
        response = await client.answer("AddDocuments", group_id=group, documents=[good, item])
        assert response.error.error_code == "INVALID_ARGUMENT"
        assert f"documents[1].{field}" in response.error.message
    assert not (await client.ask("ListDocuments", group_id=group)).documents


def part(group: str, **given: Any) -> doc.StreamDocumentsRequest:
    return doc.StreamDocumentsRequest(group_id=group, **given)


async def streamed(client: Client, *parts: doc.StreamDocumentsRequest) -> list[doc.StreamDocumentsResponse]:
    async def each() -> Any:
        for one in parts:
            yield one

    call = client.ingestion.StreamDocuments(each(), timeout=DONE_S)
    return [response async for response in call]


async def test_documents_are_streamed_in_parts(client: Client, group: str) -> None:
    content = text(*BOOK[:8], "日本語の段落です。" * 30)
    raw = content.encode()
    head = doc.DocumentItem(document_id="book", text="", reference_time=timestamp(JAN))
    pieces = [raw[at : at + 50] for at in range(0, len(raw), 50)]
    parts = [part(group, document=head, client_ref="first")]
    parts += [part(group, more=piece, last=at == len(pieces) - 1) for at, piece in enumerate(pieces)]
    bad = doc.DocumentItem(document_id="bad", text="a", reference_time=timestamp(JAN))
    parts += [part(group, document=bad), part(group, more=b"\xff", last=True)]
    small = doc.DocumentItem(document_id="small", text="Small.", reference_time=timestamp(JAN))
    parts += [part(group, document=small, last=True)]
    first, second, third = await streamed(client, *parts)
    assert (first.client_ref, first.document.arrival) == ("first", doc.DOCUMENT_ARRIVAL_NEW)
    assert whole(await chunks(client, group)) == content
    assert (second.error.error_code, "UTF-8" in second.error.message) == ("INVALID_ARGUMENT", True)
    assert (third.sequence, third.document.document_id) == (2, "small")


async def test_a_document_beyond_64_mib_is_refused_and_the_stream_goes_on(client: Client, group: str) -> None:
    head = doc.DocumentItem(document_id="big", text="", reference_time=timestamp(JAN))
    piece = b"a line\n" * 500_000
    parts = [
        part(group, document=head),
        *(part(group, more=piece) for _ in range(20)),
        part(group, last=True),
    ]
    small = doc.DocumentItem(document_id="small", text="Small.", reference_time=timestamp(JAN))
    refused, taken = await streamed(client, *parts, part(group, document=small, last=True))
    assert refused.error.error_code == "LIMIT_EXCEEDED"
    assert taken.document.document_id == "small"
