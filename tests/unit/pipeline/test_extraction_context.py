"""What an extraction is given beside the episode."""

import pytest

from kgsvc.domain.model.extraction import DEFAULT, ExtractionRequest
from kgsvc.pipeline.extraction_context import ExtractionContext
from kgsvc.pipeline.ontologies import Ontologies
from tests.support.model_store import ModelStore
from tests.support.samples import HUGE, MANY, NOW, accepted, entity, episode, leased, write

GROUP = "g"


async def requests(*bodies: str, for_model: bool = True) -> list[ExtractionRequest]:
    """Of a group that knows Jonte Bergman and the firm with the id K-881."""
    store = ModelStore()
    jonte, firm = (
        entity(GROUP, "n1", "Jonte Bergman"),
        entity(GROUP, "n2", "Corvid", attributes={"id": "K-881"}),
    )
    await write(store, GROUP, entities=(jonte, firm), names={"jonte bergman": "n1", "corvid": "n2"})
    await accepted(store, *(episode(GROUP, f"e{n}", body=body, at=n) for n, body in enumerate(bodies)))
    items = await store.start_items(await leased(store, GROUP), NOW, MANY, HUGE, ())
    context = ExtractionContext(store, Ontologies(store, lambda text: None, DEFAULT), for_model=for_model)
    return await context.requests(GROUP, items)


async def test_names_that_words_of_the_body_may_mean_are_shown() -> None:
    late, order, small_talk = await requests("Jonte is late", '{"customer": {"id": "K-881"}}', "good morning")
    assert late.known == ("Jonte Bergman",)
    assert order.known == ("Corvid (id: K-881)",)
    assert small_talk.known == ()


@pytest.mark.parametrize("for_model", [True, False])
async def test_rules_are_shown_none(for_model: bool) -> None:
    (request,) = await requests("Jonte is late", for_model=for_model)
    assert bool(request.known) is for_model
