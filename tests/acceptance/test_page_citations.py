"""A manual of twelve pages as a PDF, and ten questions: what is cited holds the answer and names its page."""

import pytest
import pytest_asyncio

from kgsvc.v1 import documents_pb2 as doc
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.asking import ask
from tests.acceptance.graph_searches import graph
from tests.acceptance.saying import JAN
from tests.acceptance.shared import OFFLINE
from tests.acceptance.test_documents import settled
from tests.support.client import Client, timestamp
from tests.support.pdfs import Row, pdf_of

SETTINGS = OFFLINE | {"documents.token_size": "400", "documents.overlap": "40"}
PAGES = (  # heading, what only this page says
    (
        "Safety",
        "The lid of the kiln locks itself above 60 degrees.",
        "Keep an extinguisher within reach.",
    ),
    ("Parts", "The thermocouple is of type S.", "The spare fuse lies behind the left panel."),
    ("Installation", "The kiln needs a socket of 32 amperes.", "Leave 45 centimetres to every wall."),
    (
        "First firing",
        "Dry the bricks at 200 degrees for three hours.",
        "Open the vent meanwhile.",
    ),
    ("Programs", "Program 4 is meant for bisque firing.", "Program 9 belongs to crystalline glazes."),
    ("Glazes", "Copper glazes turn red only without oxygen.", "Wax the foot of every pot before glazing."),
    ("Cooling", "Below 573 degrees quartz shrinks suddenly.", "Never open the lid while it glows."),
    ("Cleaning", "Vacuum the grooves of the elements twice a year.", "Sand drops of glaze off the shelves."),
    ("Errors", "Error E7 means that the relay sticks.", "Error E2 tells of a broken thermocouple."),
    ("Spare parts", "A set of elements has the order number HK-118.", "Shelves come in packs of six."),
    ("Service", "The hotline answers until five in the afternoon.", "Send the serial number along."),
    ("Warranty", "The elements are covered for eighteen months.", "Wear of the bricks is not covered."),
)
QUESTIONS = (  # question, page, words of the answer
    ("When does the lid lock itself?", 1, "above 60 degrees"),
    ("Of which type is the thermocouple?", 2, "type S"),
    ("Which socket does the kiln need?", 3, "32 amperes"),
    ("How long are the bricks dried?", 4, "three hours"),
    ("What is program 4 meant for?", 5, "bisque firing"),
    ("When do copper glazes turn red?", 6, "without oxygen"),
    ("At how many degrees does quartz shrink suddenly?", 7, "573 degrees"),
    ("What does error E7 mean?", 9, "the relay sticks"),
    ("Which order number has a set of elements?", 10, "HK-118"),
    ("For how long are the elements covered?", 12, "eighteen months"),
)
_FILLER = (
    "Chapter {n} goes on with advice that {heading} calls for, and which potters have tried for years.",
    "Whoever works in a hurry reads line {k} of page {n} again, since patience costs less than clay.",
    "Remark {k} on {heading} was written by people who have seen many studios and many broken bowls.",
)


def page(number: int) -> list[Row]:
    """A heading and some three hundred words, in the midst of which stands what only this page says."""
    heading, *facts = PAGES[number - 1]
    lines = [_FILLER[k % 3].format(n=number, k=k, heading=heading.lower()) for k in range(16)]
    said = [*lines[:7], facts[0], *lines[7:12], facts[1], *lines[12:]]
    return [Row(heading, size=18), *(Row(line, space=6) for line in said)]


@pytest_asyncio.fixture(loop_scope="session")
async def manual(client: Client, group: str) -> str:
    """The group that holds the manual."""
    pytest.importorskip("pypdfium2")
    data = pdf_of([page(number + 1) for number in range(len(PAGES))], title="Kiln manual")
    item = doc.DocumentItem(
        data=data, path="kiln.pdf", document_id="kiln", reference_time=timestamp(JAN), title="Kiln manual"
    )
    output: doc.AddDocumentsOutput = await client.ask("AddDocuments", group_id=group, documents=[item])
    for receipt in output.documents[0].receipt_ids:
        await client.wait_receipt(receipt)
    await settled(client, group, "kiln")
    return group


def holds(cited: ret.ProvenanceChunk, number: int, answer: str) -> bool:
    """Whether a chunk holds the words, names the page on which they stand, and few others."""
    words = " ".join(cited.content.split())
    return answer in words and cited.page <= number <= cited.last_page <= cited.page + 2


async def test_every_citation_holds_the_answer(client: Client, manual: str) -> None:
    for question, number, answer in QUESTIONS:
        found = await graph(client, manual, question, search_type=ret.SEARCH_SCOPE_CHUNKS, max_results=1)
        assert holds(found.chunks[0].chunk, number, answer), f"chunks: {question}"
        facts = await graph(client, manual, question, max_results=1, include_provenance=True)
        assert any(holds(each, number, answer) for each in facts.provenance.chunks), f"facts: {question}"


async def test_the_context_of_an_answer_holds_it_and_names_the_page(client: Client, manual: str) -> None:
    for question, number, answer in QUESTIONS:
        wanted = {"only_need_context": True, "include_provenance": True, "max_tokens": 1_000}
        _, told = await ask(client, manual, question, **wanted)
        assert answer in " ".join(told.context.split()), question
        assert any(holds(each, number, answer) for each in told.provenance.chunks), question
