"""What facts keep of an episode that is erased: nothing, neither quoted nor as the text that was replaced."""

from dataclasses import replace

import pytest

from kgsvc.domain.facts.amendments import quotation_end, unquoted, without_episode, without_quotations
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Evidence, Fact

QUESTION = "Ann(user): Hi. How big  is\nit?"


def fact(uuid: str, text: str, *episodes: str, **more: object) -> Fact:
    """A fact of one slot, stated by these episodes in its own words."""
    evidence = tuple(Evidence(n, n, episode) for n, episode in enumerate(episodes))
    made = Fact(
        uuid=uuid, group_id="g", name="IS", fact=text, source_uuid="a", target_uuid="b", source_name="A",
        target_name="B", created_ms=1, reference_ms=1, slot="s", fact_key="k", episodes=episodes,
        evidence=evidence,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Bob (asked “How big is it?”): nine.", "Bob: nine."),
        ("Bob (after “How big is it?”): nine.", "Bob: nine."),
        ("Bob (asked “How old is it?”): nine.", "Bob (asked “How old is it?”): nine."),
        ("Bob (of Ann): nine.", "Bob (of Ann): nine."),
    ],
)
def test_quotations_of_an_episode_go(text: str, left: str) -> None:
    assert without_quotations(text, QUESTION) == left


def test_what_quotes_it_is_found_by_its_end() -> None:
    assert quotation_end(QUESTION) in "Bob (asked “How big is it?”): nine."
    assert quotation_end("  ") == ""


def test_a_fact_without_quotations_is_left_alone() -> None:
    plain = fact("f", "Bob: nine.", "e")
    assert unquoted(plain, QUESTION, 9) is plain
    quoting = fact("f", "Bob (asked “How big is it?”): nine.", "e")
    assert unquoted(quoting, QUESTION, 9).fact == "Bob: nine."


def test_the_replaced_text_goes_with_its_only_episode() -> None:
    old = fact("old", "the secret", "evil", expired_ms=5, expired_reason="updated", expired_by_fact="new")
    new = fact("new", "the correction", "evil", "good", original_fact="the secret", previous_uuid="old")
    new = replace(new, asserted=True)
    without = without_episode(SlotView((old, new)), "evil", 9)
    assert [stone.uuid for stone in without.removed] == ["old"]
    (left,) = [each for each in without.facts if each.uuid == "new"]
    assert (left.fact, left.original_fact) == ("the correction", None)
