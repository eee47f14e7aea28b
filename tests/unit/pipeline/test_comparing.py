"""With whose facts a new one is compared: those of who is meant, whoever else speaks in the group."""

from dataclasses import replace

from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.names.similarity import may_be_called
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.preparing import PreparedItem, Stage
from tests.support.clock import SetClock
from tests.support.model_store import ModelStore
from tests.support.samples import HUGE, MANY, NOW, accepted, episode, leased
from tests.unit.pipeline.test_resolving import Model

GROUP = "g"
PEOPLE = ("Mara Voss", "Tom Lind", "Eva Brandt", "Ole Sand", "Pia Kern", "Jon Falk", "Lea Wirth", "Max Ruhe")
FUNCTIONAL, STATE = FactKind.FUNCTIONAL, FactKind.STATE


def fact(
    source: str,
    relation: str,
    target: str,
    text: str = "",
    kind: FactKind = FUNCTIONAL,
    polarity: Polarity = Polarity.ASSERTS,
) -> Extraction:
    """A fact between people and firms; of one thing alone where source and target are the same."""
    names = dict.fromkeys((source, target))
    nodes = tuple(ExtractedNode(n, n, "Organization" if n == "Corvid" else _type(n)) for n in names)
    edge = ExtractedEdge(relation, text or f"{source} {relation} {target}", source, target)
    return Extraction(nodes, (replace(edge, kind=kind, polarity=polarity),))


def _type(name: str) -> str:
    return "Project" if name in ("Atlas", "Platform") else "Person"


class Chat:
    """A chat in which one after the other speaks."""

    def __init__(self) -> None:
        self.store, self.model = ModelStore(), Model()
        self._committer = Committer(self.store, None, SetClock(NOW + 1_000), self.model)
        self._told = 0

    async def tell(self, *said: tuple[str, Extraction]) -> None:
        """Who says what, in one commit."""
        told = {f"e{self._told + n}": each for n, each in enumerate(said)}
        self._told += len(said)
        for n, (uuid, (speaker, _)) in enumerate(told.items()):
            spoken = replace(episode(GROUP, uuid, at=self._told + n), role=speaker)
            await accepted(self.store, spoken)
        lease = await leased(self.store, GROUP)
        items = await self.store.start_items(lease, NOW, MANY, HUGE, ())
        works = [PreparedItem(item, Stage(told[item.episode.uuid][1])) for item in items]
        await self._committer.commit(lease, works)
        await self.store.release(lease)

    def offered(self, text: str) -> list[str]:
        """The texts that the fact was compared with, in their order."""
        (request,) = [r for r in self.model.requests if any(q.fact == text for q in r.facts)]
        texts = {known.idx: known.fact for known in request.known_facts}
        (question,) = [q for q in request.facts if q.fact == text]
        return [texts[idx] for idx in question.compare_with]


OF_NILS = (
    fact("Nils Holm", "WORKS_AT", "Corvid"),
    fact("Nils Holm", "MEMBER_OF", "Platform", kind=STATE),
    fact("Atlas", "LED_BY", "Nils Holm"),
    fact("Nils Holm", "HAS_ROLE", "Nils Holm", "Nils Holm is head of design at Corvid"),
    fact("Nils Holm", "REPORTS_TO", "Mara Voss"),
    fact("Nils Holm", "LIKES", "Nils Holm", "Nils Holm likes tea", kind=STATE),
)
WANTED = {
    "Nils Holm WORKS_AT Corvid",
    "Nils Holm MEMBER_OF Platform",
    "Atlas LED_BY Nils Holm",
    "Nils Holm is head of design at Corvid",
    "Nils Holm REPORTS_TO Mara Voss",
}


async def a_busy_chat() -> Chat:
    chat = Chat()
    await chat.tell(*(("Nils Holm", each) for each in OF_NILS))
    for relation in ("WORKS_AT", "HAS_ROLE", "LIVES_IN"):
        target = "Corvid" if relation == "WORKS_AT" else "Graz"
        for person in PEOPLE:  # who speak, told of last
            await chat.tell((person, fact(person, relation, target)))
    chat.model.requests.clear()
    return chat


async def test_the_end_of_a_job_reaches_what_hangs_on_it() -> None:
    chat = await a_busy_chat()
    leaving = fact("Nils Holm", "WORKS_AT", "Corvid", "Nils Holm leaves Corvid", polarity=Polarity.ENDS)
    await chat.tell(("Mara Voss", leaving))
    assert set(chat.offered("Nils Holm leaves Corvid")) >= WANTED


async def test_a_first_name_is_nobody_whose_name_it_cannot_be() -> None:
    chat = await a_busy_chat()
    leaving = fact("Nils", "WORKS_AT", "Corvid", "Nils leaves Corvid", polarity=Polarity.ENDS)
    await chat.tell(*((person, Extraction()) for person in PEOPLE), ("Mara Voss", leaving))
    offered = chat.offered("Nils leaves Corvid")
    assert set(offered) >= WANTED
    strangers = [text for text in offered if "Nils" not in text and "Corvid" not in text]
    assert strangers == [], "the homes and roles of others who speak are not his"


async def test_another_job_reaches_what_hangs_on_the_old_one() -> None:
    chat = await a_busy_chat()
    await chat.tell(("Mara Voss", fact("Nils Holm", "WORKS_AT", "Tern")))
    assert set(chat.offered("Nils Holm WORKS_AT Tern")) >= WANTED


async def test_what_is_surely_about_the_same_comes_first() -> None:
    chat = Chat()
    await chat.tell(
        ("Mara Voss", fact("Nils Holm", "WORKS_AT", "Corvid")),
        ("Mara Voss", fact("Nils Ekberg", "WORKS_AT", "Corvid")),
    )
    await chat.tell(("Mara Voss", fact("Nils Holm", "WORKS_AT", "Tern", "Nils Holm is with Tern now")))
    assert chat.offered("Nils Holm is with Tern now")[0] == "Nils Holm WORKS_AT Corvid"


def test_whose_names_may_be_one() -> None:
    one = ("Nils", "Barney", "Gus", "Ana", "Dr. Dobie", "J. Smith", "中村", "Liz", "Mr. Holm")
    two = ("Nils Holm", "Barnaby Renwick", "Fergus Bright", "Anahera Tamati", "Fergus Dobie", "John Smith")
    more = ("中村由美", "Elizabeth Hart", "Nils Holm")
    assert all(may_be_called(*pair) for pair in zip(one, (*two, *more), strict=True))
    assert not any(
        may_be_called(*p) for p in (("Nils", "Mara Voss"), ("Tom Weber", "Ann Weber"), ("", "Ann"))
    )


async def test_what_an_event_may_end_is_offered_to_it() -> None:
    """A trip that is called off has no date and no destination any more; one that is booked has."""
    chat, event = Chat(), FactKind.EVENT
    await chat.tell(
        ("Mara Voss", fact("Trip", "HAS_DATE", "Trip", "The trip begins on 8 November.")),
        ("Mara Voss", fact("Trip", "LOCATED_IN", "Turin", "The trip goes to Turin.", STATE)),
        ("Mara Voss", fact("Tom Lind", "LIKES", "Turin", "Tom Lind likes Turin.", STATE)),
        ("Mara Voss", fact("Trip", "PLANNED", "Trip", "The trip was planned in May.", event)),
    )
    await chat.tell(
        ("Mara Voss", fact("Trip", "BOOKED", "Trip", "All rooms are booked.", event)),
        ("Mara Voss", fact("Trip", "CANCELLED", "Trip", "It was called off, too few came.", event)),
        ("Mara Voss", fact("Trip", "SOLD_TO", "Tom Lind", "Tom Lind has bought it.", event)),
    )
    date, place = "The trip begins on 8 November.", "The trip goes to Turin."
    asked = {question.fact for request in chat.model.requests for question in request.facts}
    assert "All rooms are booked." not in asked
    assert sorted(chat.offered("It was called off, too few came.")) == [date, place]
    assert place in chat.offered("Tom Lind has bought it.")
    assert "Tom Lind likes Turin." not in chat.offered("Tom Lind has bought it.")
