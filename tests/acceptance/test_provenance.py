"""Provenance: each field of what SearchGraph, GetMemory and Ask say of where results come from."""

from typing import Any

import pytest

from kgsvc.v1 import documents_pb2 as doc
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.asking import ask, handles
from tests.acceptance.graph_searches import graph
from tests.acceptance.saying import FEB, JAN, MAR
from tests.acceptance.test_documents import BOOK, chunks, paragraph, read, text
from tests.acceptance.test_documents import SCRIPT as reads_documents
from tests.support.client import Client, message, timestamp
from tests.support.pdfs import Row, pdf_of
from tests.support.scripted_openai import Request, says

SETTINGS = {"documents.token_size": "64", "documents.overlap": "8"}
QUESTION = "Whom does Person7 know? Person7 knows Friend7"


def SCRIPT(request: Request) -> Any:
    """Documents as test_documents does, answers that cite the first line of all."""
    if request.question is not None:
        first = min(handles(request.question["context"]).values())
        return says(f"So it is [{first}].")
    return reads_documents(request)


async def booked(client: Client, group: str) -> list[doc.DocumentChunk]:
    """A document in the graph; its chunks."""
    await read(client, group, text(*BOOK), title="Handbook", source_url="https://docs.example/h")
    return await chunks(client, group)


async def chatted(client: Client, group: str) -> None:
    """Two messages in the graph, one with a fact."""
    said = [
        message("<Ann KNOWS Acme> is so.", JAN, role="Bo", uuid="one"),
        message("I like green tea.", FEB, role="Bo", uuid="two"),
    ]
    receipt = await client.add_messages(group, said)
    await client.wait_receipt(receipt.receipt_id)


async def known(client: Client, group: str) -> dict[str, ret.Provenance]:
    """What each of the three operations says of where a fact of the book comes from."""
    found = await graph(client, group, QUESTION, max_results=1, include_provenance=True)
    asked = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content=QUESTION, timestamp=timestamp(MAR))
    remembered: ret.GetMemoryOutput = await client.ask(
        "GetMemory", group_id=group, messages=[asked], max_facts=1, include_provenance=True
    )
    _, answer = await ask(client, group, QUESTION, max_results=1, include_provenance=True)
    assert found.facts[0].fact.fact == remembered.facts[0].fact == "Person7 knows Friend7"
    return {
        "SearchGraph": found.provenance,
        "GetMemory": remembered.provenance,
        "Ask": answer.provenance,
    }


async def test_include_provenance_is_false_by_default(client: Client, group: str) -> None:
    await chatted(client, group)
    assert not (await graph(client, group, "Ann")).HasField("provenance")
    asked = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content="Ann", timestamp=timestamp(MAR))
    assert not (await client.ask("GetMemory", group_id=group, messages=[asked])).HasField("provenance")
    for alone in (False, True):
        _, answer = await ask(client, group, "Ann", only_need_context=alone)
        assert not answer.HasField("provenance")
        assert answer.source_texts, "these always come"


async def test_entities_have_entity_name_score_and_description(client: Client, group: str) -> None:
    await booked(client, group)
    for operation, told in (await known(client, group)).items():
        named = {each.entity_name: each for each in told.entities}
        assert set(named) == {"Person7", "Friend7"}, operation
        for name, entity in named.items():
            shown = (await client.get_entity(group, entity.uuid)).node
            assert (shown.name, shown.summary) == (name, entity.description), operation
            assert entity.description
            assert entity.score > 0
            assert entity.group_id == group


async def test_entities_that_were_found_have_their_own_score(client: Client, group: str) -> None:
    await booked(client, group)
    recipe = ret.SEARCH_RECIPE_NODE_HYBRID_SEARCH_RRF
    found = await graph(client, group, "Person7", recipe=recipe, include_provenance=True)
    scores = [(hit.node.uuid, hit.score, hit.node.summary) for hit in found.nodes]
    assert scores
    assert [(each.uuid, each.score, each.description) for each in found.provenance.entities] == scores
    assert not found.provenance.source_texts, "no text was found"


async def test_chunks_have_id_document_order_tokens_content_span_and_headings(
    client: Client, group: str
) -> None:
    placed = await booked(client, group)
    stating = [each for each in placed if "<Person7 KNOWS Friend7>" in each.content]
    assert stating
    for operation, told in (await known(client, group)).items():
        found = {each.chunk_order_index: each for each in told.chunks}
        for chunk in stating:
            shown = found[chunk.chunk_order_index]
            assert shown.chunk_id == chunk.chunk_id, operation
            assert shown.full_doc_id == chunk.full_doc_id == "book"
            assert shown.tokens == chunk.tokens > 0
            assert shown.content == chunk.content
            assert (shown.start, shown.end) == (chunk.start, chunk.end)
            assert list(shown.headings) == list(chunk.headings)
            assert (shown.title, shown.group_id) == ("Handbook", group)
            assert not shown.HasField("page"), "the format has no pages"
        assert not told.episodes, "chunks are no messages"


async def test_chunks_have_the_page_where_there_are_pages(client: Client, group: str) -> None:
    pytest.importorskip("pypdfium2")
    pages = [[Row(f"Page {n}: <Person{n} KNOWS Friend{n}> is so.")] for n in (6, 7, 8)]
    item = doc.DocumentItem(
        data=pdf_of(pages), path="people.pdf", document_id="people", reference_time=timestamp(JAN)
    )
    output = await client.ask("AddDocuments", group_id=group, documents=[item])
    for receipt in output.documents[0].receipt_ids:
        await client.wait_receipt(receipt)
    placed = {each.chunk_order_index: each for each in await chunks(client, group, "people")}
    told = (await known(client, group))["SearchGraph"]
    assert told.chunks
    for chunk in told.chunks:
        assert chunk.HasField("page")
        assert chunk.page == placed[chunk.chunk_order_index].page


async def test_two_places_of_one_chunk_are_both_told(client: Client, group: str) -> None:
    same = paragraph(7, "Person7 KNOWS Friend7", "Person7 LIKES Friend7", "Person7 SEES Friend7")
    filler = [paragraph(n) for n in range(8)]
    content = f"# One\n\n{same}\n\n# Two\n\n{text(*filler)}\n# One\n\n{same}\n"
    await read(client, group, content)
    placed = await chunks(client, group)
    twice = [each for each in placed if [c.chunk_id for c in placed].count(each.chunk_id) > 1]
    found = await graph(client, group, QUESTION, include_provenance=True)
    told = {(each.chunk_id, each.chunk_order_index, each.start) for each in found.provenance.chunks}
    assert {(each.chunk_id, each.chunk_order_index, each.start) for each in twice} <= told


async def test_episodes_have_uuid_name_source_reference_time_and_content(client: Client, group: str) -> None:
    await chatted(client, group)
    found = await graph(client, group, "Ann knows Acme", include_provenance=True)
    (told,) = found.provenance.episodes
    assert (told.uuid, told.source, told.group_id) == ("one", typ.SOURCE_MESSAGE, group)
    assert told.content == "Bo(user): <Ann KNOWS Acme> is so."
    assert told.reference_time == timestamp(JAN)
    assert not told.HasField("name")
    assert not found.provenance.chunks


async def test_source_texts_are_the_texts_of_the_sources_each_once(client: Client, group: str) -> None:
    await booked(client, group)
    for operation, told in (await known(client, group)).items():
        contents = [each.content for each in told.chunks] + [each.content for each in told.episodes]
        assert list(told.source_texts) == list(dict.fromkeys(contents)), operation
        assert told.source_texts
        assert told.left_out == 0


async def test_source_texts_come_always_with_ask(client: Client, group: str) -> None:
    await chatted(client, group)
    _, plain = await ask(client, group, "Does Bo like green tea? Ann?")
    _, full = await ask(client, group, "Does Bo like green tea? Ann?", include_provenance=True)
    assert list(plain.source_texts) == list(full.source_texts) == list(full.provenance.source_texts)
    assert "Bo(user): I like green tea." in plain.source_texts


async def test_only_need_context_answers_with_context_and_provenance(client: Client, group: str) -> None:
    await booked(client, group)
    wanted = {"only_need_context": True, "include_provenance": True, "max_results": 1}
    _, found = await ask(client, group, QUESTION, **wanted)
    assert "Person7" in found.context
    assert {each.entity_name for each in found.provenance.entities} == {"Person7", "Friend7"}
    assert {each.full_doc_id for each in found.provenance.chunks} == {"book"}
    assert not found.HasField("answer")


async def test_an_answer_cites_chunks_as_such(client: Client, group: str) -> None:
    placed = await booked(client, group)
    _, answer = await ask(client, group, QUESTION)
    (cited,) = answer.citations
    assert cited.kind == ret.CITATION_KIND_CHUNK
    assert cited.uuid in {each.chunk_id for each in placed}


async def test_known_as_of_tells_no_later_sources_and_no_summaries_of_now(client: Client, group: str) -> None:
    await chatted(client, group)
    (known_then,) = [each for each in await client.search(group, "Ann Acme") if "ann" in each.fact.lower()]
    again = message("<Ann KNOWS Acme> is still so.", MAR, role="Bo", uuid="later")
    receipt = await client.add_messages(group, [again])
    await client.wait_receipt(receipt.receipt_id)
    now = await graph(client, group, "Ann knows Acme", include_provenance=True)
    assert {each.uuid for each in now.provenance.episodes} == {"one", "later"}
    then = ret.SearchFilters(known_as_of=known_then.created_at)
    found = await graph(client, group, "Ann knows Acme", filters=then, include_provenance=True)
    assert [each.uuid for each in found.provenance.episodes] == ["one"]
    assert {each.description for each in found.provenance.entities} == {""}


async def test_what_the_response_has_no_room_for_is_left_out_and_counted(client: Client, group: str) -> None:
    long = "tea " * 230_000
    sent = [message(f"<Ann KNOWS Acme> {n} {long}", JAN + n, role="Bo", uuid=f"e{n}") for n in range(3)]
    for each in sent:
        receipt = await client.add_messages(group, [each])
        await client.wait_receipt(receipt.receipt_id)
    found = await graph(client, group, "Ann knows Acme", include_provenance=True)
    assert len(found.provenance.episodes) == 1
    assert found.provenance.left_out == 2
    assert found.ByteSize() < 3 * 1024 * 1024
