"""Chunks of documents as a scope of SearchGraph, found by words and by meaning."""

from kgsvc.documents.passages import passages
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.graph_searches import BFS, BM25, COSINE, Method, graph
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, JAN, MAR
from tests.acceptance.test_documents import SCRIPT as reads_documents
from tests.acceptance.test_documents import chunks, paragraph, read, text
from tests.support.client import Client, message, timestamp
from tests.support.scripted_openai import ScriptedOpenAI

SETTINGS = {"documents.token_size": "400", "documents.overlap": "20"}
SCRIPT = reads_documents
WANTED = "Rainwater from the northern roof feeds the orchard in dry summers."
BOOK = [paragraph(n) for n in range(14)] + [f"# Water\n\n{WANTED} {paragraph(14)}"]
BOOK += [paragraph(n) for n in range(15, 40)]


def by(*methods: Method, **how: object) -> list[ret.ScopeSearch]:
    """Chunks, searched so."""
    return [ret.ScopeSearch(scope=ret.SEARCH_SCOPE_CHUNKS, methods=methods, **how)]  # type: ignore[arg-type]


async def booked(client: Client, group: str) -> str:
    """A document in the graph; its chunk that holds `WANTED`."""
    await read(client, group, text(*BOOK), title="House")
    holding = [each.chunk_id for each in await chunks(client, group) if WANTED in each.content]
    assert len(holding) == 1
    return holding[0]


async def test_each_text_is_embedded_once(client: Client, group: str, model: ScriptedOpenAI) -> None:
    """Names of entities, texts of facts, passages of chunks: also when the document is sent again."""
    before = len(model.embeddings)
    content = text(*(paragraph(n, f"Person{n} KNOWS Friend{n % 3}") for n in range(20)))
    await read(client, group, content)
    await read(client, group, content, FEB)
    asked = [each for request in model.embeddings[before:] for each in request.body["input"]]
    facts = {each.fact for each in await client.search(group, "knows", max_facts=100)}
    assert len(facts) == 20
    assert {*facts, "Friend0", "Person19"} <= set(asked)
    assert any("paragraph number 7" in each for each in asked)
    assert sorted(asked) == sorted(set(asked))


async def test_chunks_are_found_by_words_with_their_place(client: Client, group: str) -> None:
    wanted = await booked(client, group)
    found = await graph(client, group, "rainwater orchard", scopes=by(BM25))
    (hit,) = found.chunks
    (placed,) = [each for each in await chunks(client, group) if each.chunk_id == wanted]
    assert (hit.chunk.chunk_id, hit.chunk.full_doc_id, hit.chunk.title) == (wanted, "book", "House")
    assert hit.chunk.content == placed.content
    assert (hit.chunk.start, hit.chunk.end) == (placed.start, placed.end)
    assert (hit.chunk.tokens, hit.chunk.chunk_order_index) == (placed.tokens, placed.chunk_order_index)
    assert list(hit.chunk.headings) == list(placed.headings)
    assert found.count == 1
    assert list(found.ran[0].methods) == [BM25]


async def test_a_chunk_is_as_near_as_its_nearest_passage(client: Client, group: str) -> None:
    wanted = await booked(client, group)
    content = next(each.content for each in await chunks(client, group) if each.chunk_id == wanted)
    (passage,) = [each for each in passages(content) if WANTED in each]
    assert len(passage) < len(content) / 2, "one of several"
    found = await graph(client, group, passage, scopes=by(COSINE), include_scores=True)
    best, *others = found.chunks
    assert best.chunk.chunk_id == wanted
    (by_meaning,) = best.found_by
    assert (by_meaning.method, round(by_meaning.score, 5)) == (COSINE, 1.0)
    assert all(each.found_by[0].score < 0.99 for each in others)


async def test_the_whole_scope_uses_words_and_meaning(client: Client, group: str) -> None:
    wanted = await booked(client, group)
    found = await graph(client, group, WANTED, search_type=ret.SEARCH_SCOPE_CHUNKS)
    assert found.chunks[0].chunk.chunk_id == wanted
    assert list(found.ran[0].methods) == [BM25, COSINE]
    assert found.ran[0].reranker == ret.RERANKER_EVIDENCE


async def test_by_evidence_a_chunk_may_be_found_by_meaning_alone(client: Client, group: str) -> None:
    """The words of the question stand in no chunk; the script embeds them as it embeds the passage."""
    wanted = await booked(client, group)
    content = next(each.content for each in await chunks(client, group) if each.chunk_id == wanted)
    (passage,) = [each for each in passages(content) if WANTED in each]
    found = await graph(client, group, passage, scopes=by(COSINE, reranker=ret.RERANKER_EVIDENCE))
    assert found.chunks[0].chunk.chunk_id == wanted


async def test_by_evidence_nothing_is_walked(client: Client, group: str) -> None:
    asked = ret.SearchGraphInput(
        group_ids=[group], query="rainwater", scopes=by(BM25, BFS, reranker=ret.RERANKER_EVIDENCE)
    )
    refusal = await refused(client, "SearchGraph", ret.SearchGraphRequest(input=asked))
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.scopes[0].methods[1]",))


async def test_messages_are_no_chunks(client: Client, group: str) -> None:
    await client.wait_receipt(
        (await client.add_messages(group, [message(WANTED, JAN, role="Bo", uuid="one")])).receipt_id
    )
    assert not (await graph(client, group, "rainwater", search_type=ret.SEARCH_SCOPE_CHUNKS)).chunks


async def test_chunks_of_former_texts_and_of_deleted_documents_are_not_found(
    client: Client, group: str
) -> None:
    await booked(client, group)
    await read(client, group, text(*BOOK[:14], *BOOK[15:]), FEB)
    assert not (await graph(client, group, "rainwater", search_type=ret.SEARCH_SCOPE_CHUNKS)).chunks
    assert (await graph(client, group, "handbook", search_type=ret.SEARCH_SCOPE_CHUNKS)).chunks
    await client.ask("DeleteDocument", group_id=group, document_id="book")
    assert not (await graph(client, group, "handbook", search_type=ret.SEARCH_SCOPE_CHUNKS)).chunks


async def test_filters_hold_for_chunks(client: Client, group: str) -> None:
    await booked(client, group)
    for since, count in ((JAN, 1), (MAR, 0)):
        filters = ret.SearchFilters(valid_at=ret.TimeSpan(since=timestamp(since)))
        found = await graph(client, group, "rainwater orchard", scopes=by(BM25), filters=filters)
        assert len(found.chunks) == count
