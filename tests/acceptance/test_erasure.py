"""What is erased is in no file, no row and no index any more, and the receipt says so."""

import asyncio
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kgsvc.v1.documents_pb2 import DocumentItem
from tests.acceptance.saying import FEB, JAN, MAR, RETOLD, fact, telling
from tests.acceptance.shared import OFFLINE
from tests.support.canaries import ERASED_S, erased, found, index_words, indexed, stray_vectors
from tests.support.client import Client, message, timestamp
from tests.support.communities import built
from tests.support.scripted_openai import ScriptedOpenAI, hanging, status
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

ONTOLOGY = """
graphiti:
  entity_types:
    - {{name: Task, description: {}}}
"""


@dataclass
class Secrets:
    """Words that nobody else says, by where they were put."""

    words: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, place: str) -> str:
        """The word of a place: letters only, so that it is one token."""
        digits = str.maketrans("0123456789", "ghijklmnop")
        made = f"{place.title()}{uuid.uuid4().hex[:12].translate(digits)}"
        return self.words.setdefault(place, made)


@pytest.fixture
def secrets() -> Secrets:
    """Of a test."""
    return Secrets()


async def fill(client: Client, group: str, model: ScriptedOpenAI, secrets: Secrets) -> None:
    """Everything of a group that holds texts: all of it holds secrets."""
    who, twin, firm = secrets["person"], secrets["twin"], secrets["firm"]
    works = fact("WORKS_AT", who, firm, f"{who} works at {firm} as {secrets['fact']}")
    same = fact("LIVES_IN", twin, "Oslo", f"{twin} lives in Oslo near {secrets['second']}")
    met = fact("MET", who, twin, f"{who} met {twin} once")
    items = [telling(JAN, works, met, uuid="a"), telling(FEB, same, uuid="b")]
    accepted = await client.add_episodes(group, items, idempotency_key=secrets["key"])
    await client.wait_receipt(accepted.receipt_id)
    (first, *_) = await client.search(group, secrets["fact"])
    await client.ask(
        "UpdateFact", uuid=first.uuid, group_id=group, fact=f"{who} left {firm}", reason=secrets["reason"]
    )
    await client.ask(
        "AddEntityNode", uuid=f"{group}-n", group_id=group, name=secrets["node"], summary=secrets["summary"]
    )
    await built(client, group)
    kept, gone = [await client.entity_of(group, name) for name in (who, twin)]
    await client.ask("MergeEntityNodes", group_id=group, keep_uuid=kept, merge_uuid=gone)
    await client.ask("PutOntology", group_id=group, yaml=ONTOLOGY.format(secrets["ontology"]))
    unheard = secrets["staged"]
    model.fail(status(500), match=unheard, endpoint="embeddings", times=None)
    late = telling(MAR, fact("KNOWS", who, unheard), uuid="late")
    accepted = await client.add_episodes(group, [late])
    await client.wait_receipt(accepted.receipt_id)


def words(secrets: Secrets, *but: str) -> list[str]:
    """The secrets of all places but these."""
    return [word for place, word in secrets.words.items() if place not in but]


async def test_nothing_of_a_deleted_group_is_left(
    client: Client, group: str, spec: StoreSpec, patient_model: ScriptedOpenAI, secrets: Secrets
) -> None:
    await fill(client, group, patient_model, secrets)
    everywhere = await found(spec, words(secrets))
    assert set(words(secrets)) <= everywhere, "or the search for them proves nothing"
    known_by = await index_words(spec, group)
    assert bool(await indexed(spec, known_by)) is (spec.neo4j is not None)
    answer = await client.delete_group(group)
    receipt = await erased(client, answer.erasure_id)
    assert await found(spec, words(secrets)) == set()
    assert await indexed(spec, known_by) == 0
    assert receipt.kind == "group"
    removed = dict(receipt.removed)
    assert (removed["episodes"], removed["items"], removed["merge_records"]) == (3, 3, 1)
    assert min(removed[kind] for kind in ("entities", "facts", "vectors", "staged_outputs")) > 0
    if spec.data_dir is not None:
        assert set(stray_vectors(spec.data_dir).values()) == {0}


async def test_nothing_that_only_one_episode_told_is_left_of_it(
    client: Client, group: str, spec: StoreSpec, secrets: Secrets
) -> None:
    alone, told_twice, alias = secrets["alone"], secrets["wording"], secrets["twin"]
    works = fact("WORKS_AT", "Ann", "Acme", f"Ann works at Acme since {told_twice}")
    again = fact("WORKS_AT", "Ann", "Acme", "Ann works at Acme")
    lives = fact("LIVES_IN", "Ann", alone, f"Ann lives in {alone}")
    knows = fact("KNOWS", "Anna", alias, f"Anna knows {alias} of {secrets['merged']}")
    likes = fact("LIKES", "Anna", "jazz", f"Anna likes jazz and {secrets['liked']}")
    both = fact("LIKES", "Anna", "jazz", "Anna likes jazz")
    await client.ingest(group, [telling(JAN, works, lives, knows, likes, uuid="evil-1")])
    await client.ingest(group, [telling(FEB, again, both, uuid="good")])
    (first, *_) = [each for each in await client.search(group, "works Acme") if each.name == "WORKS_AT"]
    await client.update_fact(group, first.uuid, "Ann works for Acme")
    await built(client, group)
    kept, gone = [await client.entity_of(group, name) for name in ("Ann", "Anna")]
    merged = await client.ask("MergeEntityNodes", group_id=group, keep_uuid=kept, merge_uuid=gone)
    assert set(words(secrets)) <= await found(spec, words(secrets))
    done = await client.ask("DeleteEpisode", uuid="evil-1", group_id=group, cascade=True)
    receipt = await erased(client, done.erasure_id)
    assert await found(spec, words(secrets)) == set()
    assert receipt.kind == "episode"
    assert dict(receipt.removed)["episodes"] == 1
    left = {each.fact for each in await client.search(group, "Ann jazz Acme", max_facts=100)}
    assert left == {"Ann works for Acme", "Anna likes jazz"}
    await client.ask("UndoMerge", group_id=group, merge_id=merged.merge_id)
    assert await client.entity_of(group, "Anna") == gone


async def test_nothing_of_a_deleted_document_is_left(
    client: Client, group: str, spec: StoreSpec, secrets: Secrets
) -> None:
    works = fact("WORKS_AT", secrets["person"], "Acme", f"{secrets['person']} works as {secrets['fact']}")
    item = DocumentItem(
        document_id=secrets["id"],
        title=secrets["title"],
        author=secrets["author"],
        source_url=f"https://example.org/{secrets['address']}",
        text=f"# {secrets['heading']}\n\n{telling(JAN, works).body}",
        reference_time=timestamp(JAN),
    )
    item.metadata.update({secrets["key"]: secrets["value"]})
    (added,) = (await client.ask("AddDocuments", group_id=group, documents=[item])).documents
    for receipt_id in added.receipt_ids:
        await client.wait_receipt(receipt_id)
    assert set(words(secrets)) <= await found(spec, words(secrets))
    done = await client.ask("DeleteDocument", group_id=group, document_id=secrets["id"])
    receipt = await erased(client, done.erasure_id)
    assert await found(spec, words(secrets)) == set()
    assert (receipt.kind, receipt.removed["documents"]) == ("document", 1)


async def test_what_a_model_answers_while_its_group_is_erased_is_kept_nowhere(
    client: Client, group: str, spec: StoreSpec, patient_model: ScriptedOpenAI, secrets: Secrets
) -> None:
    staged, asked = secrets["staged"], secrets["asked"]
    patient_model.fail(hanging(), match=staged, endpoint="embeddings", times=None)
    patient_model.fail(hanging(), match=asked, times=None)
    await client.add_episodes(group, [telling(JAN, fact("KNOWS", "Ann", staged), uuid="embedding")])
    await client.add_episodes(f"{group}-2", [telling(JAN, fact("KNOWS", "Bob", asked), uuid="extracting")])
    async with asyncio.timeout(ERASED_S):
        while not (
            any(staged in each.text for each in patient_model.embeddings)
            and any(asked in each.text for each in patient_model.chats)
        ):
            await patient_model.received(len(patient_model.requests) + 1)
    assert set(words(secrets)) <= await found(spec, words(secrets))
    answers = [await client.delete_group(name) for name in (group, f"{group}-2")]
    patient_model.heal()
    for name, answer in zip((group, f"{group}-2"), answers, strict=True):
        await erased(client, answer.erasure_id)
        await client.ingest(name, [telling(FEB, fact("KNOWS", "Cid", "Dan"), uuid="next")])
    assert await found(spec, words(secrets)) == set()


async def test_a_models_summary_forgets_what_only_the_erased_episode_told(
    client: Client, group: str, spec: StoreSpec, secrets: Secrets
) -> None:
    things = [f"{n:02} {'x' * 60}" for n in range(16)]
    told = [fact("LIKES", RETOLD, each, f"{RETOLD} likes {each}") for each in things]
    last = fact("LIKES", RETOLD, "tea", f"{RETOLD} likes tea with {secrets['retold']} and {'y' * 60}")
    await client.ingest(group, [telling(JAN, each, uuid=f"e{n}") for n, each in enumerate(told)])
    await client.ingest(group, [telling(FEB, last, uuid="evil")])
    uuid = await client.entity_of(group, RETOLD)
    async with asyncio.timeout(ERASED_S):
        while secrets["retold"] not in await summary_by_model(client, group, uuid):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert await found(spec, words(secrets))
    done = await client.ask("DeleteEpisode", uuid="evil", group_id=group, cascade=True)
    await erased(client, done.erasure_id)
    assert await found(spec, words(secrets)) == set()


async def summary_by_model(client: Client, group: str, uuid: str) -> str:
    """The summary, if the model wrote it."""
    summary = (await client.get_entity(group, uuid)).node.summary
    return summary if summary.startswith("In short") else ""


async def test_an_erased_question_is_quoted_by_no_answer(
    own_store_spec: StoreSpec, tmp_path: Path, group: str, secrets: Secrets
) -> None:
    hall = secrets["question"]
    question = message(f"How big is the pool hall at {hall}?", JAN, uuid="q", role="Ann")
    answer = message("1,860 square metres.", JAN + 1_000, uuid="r", role="Bob")
    settings = own_store_spec.settings | OFFLINE
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        accepted = await client.add_messages(group, [question, answer])
        await client.wait_receipt(accepted.receipt_id)
        assert any(hall in each.fact for each in await client.search(group, "square metres", max_facts=100))
        done = await client.ask("DeleteEpisode", uuid="q", group_id=group, cascade=True)
        await erased(client, done.erasure_id)
        assert await found(own_store_spec, words(secrets)) == set()
        left = await client.search(group, "square metres", max_facts=100)
        assert [each.fact for each in left] == ["Bob: 1,860 square metres."]
        service.kill9()
        await service.start()
        async with Client(service.address) as again:
            receipt = (await again.ask("GetErasure", erasure_id=done.erasure_id)).erasure
        assert receipt.HasField("completed_at")
        assert dict(receipt.removed)["facts_reworded"] == 1
