"""Names known in a group that words of an episode may mean."""

from collections.abc import Mapping

from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.known import SHOWN, SHOWN_CHARS, TERMS, query, shown, terms_of
from kgsvc.domain.names.similarity import identities, name_terms
from kgsvc.domain.resolution.decisions import NameCandidates


def known(*entities: Entity, aliases: Mapping[str, str] | None = None) -> dict[str, set[str]]:
    """Entity uuids by the terms that lead to them."""
    found: dict[str, set[str]] = {}
    for each in entities:
        for name in (each.name, *(a for a, of in (aliases or {}).items() if of == each.name)):
            for term in name_terms(name_key(name)) | identities(each.attributes).keys():
                found.setdefault(term, set()).add(each.uuid)
    return found


def told(body: str, *entities: Entity, aliases: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What is shown for the body in a group of these entities."""
    index, terms = known(*entities, aliases=aliases), terms_of(body)
    asked = query(terms)
    by_token = {t: tuple(sorted(index[t]))[: asked.entities_per_token] for t in asked.tokens if t in index}
    names = {
        e.uuid: (name_key(e.name), *(name_key(a) for a, of in (aliases or {}).items() if of == e.name))
        for e in entities
    }
    return shown(body, terms, NameCandidates(by_token, {e.uuid: e for e in entities}, names))


def entity(name: str, **attributes: str) -> Entity:
    return Entity(f"n-{name}", "g", name, 1, attributes=attributes)


JONTE = entity("Jonte Bergman")
SHOP = entity("Larnach Road shop")
CORVID = entity("Corvid GmbH", id="K-881")


def test_a_short_name_shows_the_full_one() -> None:
    assert told("Mara(user): Jonte is late again", JONTE, SHOP) == ("Jonte Bergman",)
    assert told("The shop opens at nine.", JONTE, SHOP) == ("Larnach Road shop",)


def test_an_id_shows_what_has_it() -> None:
    assert told('{"customer": {"id": "K-881"}, "total": 12}', CORVID, SHOP) == ("Corvid GmbH (id: K-881)",)


def test_an_alias_shows_what_it_stands_for() -> None:
    assert told("Limpet is late", entity("Saltmarsh Baths"), aliases={"Limpet": "Saltmarsh Baths"}) == (
        "Saltmarsh Baths (limpet)",
    )


def test_a_full_name_needs_no_help() -> None:
    assert told("Jonte Bergman is late", JONTE) == ()


def test_what_many_bear_tells_nothing() -> None:
    many = [entity(f"Room {letter}") for letter in "ABCDEFGH"]
    assert told("the room is cold", *many) == ()


def test_japanese_names_are_found_by_their_characters() -> None:
    assert told("中村さんが来ます", entity("中村由美")) == ("中村由美",)


def test_it_is_bounded() -> None:
    words = " ".join(f"Word{n}" for n in range(5_000))
    assert len(terms_of(words)) == TERMS
    long = [entity(f"Ann {'x' * 60} {n}") for n in range(4)]
    lines = told("Ann was here", *long)
    assert 0 < len(lines) <= SHOWN
    assert sum(map(len, lines)) <= SHOWN_CHARS


def test_plain_words_lead_nowhere() -> None:
    assert terms_of("and then you went there today") == []
