"""What the graph holds and search finds where no model is configured."""

from pathlib import Path

from kgsvc.domain.limits import DAY_MS
from kgsvc.domain.model.graph import Fact
from tests.acceptance.shared import OFFLINE
from tests.support.client import Client, episode, message
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

AT_MS = 1_704_067_200_000
TALK = (
    "Kiran lives in Whitefield.",
    "Kiran moved from Whitefield to Electronic City.",
    "Kiran works on Project Atlas.",
    "Kiran moved from Project Atlas to Project Borealis.",
    "The budget of Project Fern is $50,000.",
    "The budget of Project Fern was raised to $65,000.",
    "I like drinking coffee.",
    "I do not like coffee anymore, I like drinking tea now.",
)
TEXTS = (
    "Larch Transparency Center opened in 2016.",
    "Larch Corp sells software, and Larch Developer Network helps with it.",
    "Larch grew fast. The Larch Server runs well, said the Larch Visitor Center.",
    "The staging API runs on port 8080.",
)


def held(facts: tuple[Fact, ...], relation: str) -> dict[str, bool]:
    """Whether the facts of a relation are open, by their texts."""
    return {f.fact: f.invalid_ms is None and f.expired_ms is None for f in facts if f.name == relation}


async def test_what_rules_read_is_true_and_found(tmp_path: Path, group: str) -> None:
    spec = StoreSpec("embedded", data_dir=tmp_path / "data")
    async with Service(spec.settings | OFFLINE, tmp_path) as service, Client(service.address) as client:
        for day, text in enumerate(TALK):
            await client.say(group, [message(text, AT_MS + day * DAY_MS, "Mira", f"m{day}")])
        await client.ingest(group, [episode(text, AT_MS, f"t{n}") for n, text in enumerate(TEXTS)])
        found = [fact.fact for fact in await client.search(group, "Who likes tea?")]
    assert "Mira likes drinking tea now." in found
    facts = (dump := await dumped(spec, group)).facts
    assert held(facts, "LIVES_IN") == {TALK[0]: False, TALK[1]: True}
    assert held(facts, "HAS_BUDGET") == {TALK[4]: False, TALK[5]: True}
    assert held(facts, "LIKES") == {
        "Mira likes drinking coffee.": False,
        "Mira likes drinking tea now.": True,
    }
    names = {entity.name for entity in dump.entities}
    larches = {"Larch", "Larch Corp", "Larch Server", *(f"Larch {each}" for each in PARTS)}
    assert names >= larches
    assert "the text" not in names


PARTS = ("Transparency Center", "Developer Network", "Visitor Center")
