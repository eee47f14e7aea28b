"""Names and wordings of the planted corpus: who there is, how each is spelled, how each relation is told."""

from __future__ import annotations

from dataclasses import dataclass

# The first spelling is the full one. No spelling belongs to two things; some things are nearly namesakes.
PEOPLE = (
    ("Robert Smith", "Bob Smith", "Robert J. Smith"),
    ("Katherine Brandt", "Kate Brandt", "Catherine Brandt"),
    ("William Castro", "Bill Castro"),
    ("Elizabeth Dubois", "Liz Dubois", "Elizabeth DuBois"),
    ("Thomas Eriksen", "Tom Eriksen", "T. Eriksen"),
    ("Margaret Fischer", "Peggy Fischer"),
    ("Alexander Garcia", "Alex Garcia", "Alexander García"),
    ("Michael Hoffmann", "Mike Hoffmann", "Michael Hofmann"),
    ("Susan Ivanov", "Sue Ivanov"),
    ("Nicholas Jensen", "Nick Jensen"),
    ("Anna Keller",),
    ("Anne Keller",),
    ("Søren Lindqvist", "Soren Lindqvist"),
    ("Victoria Moreau", "Vicky Moreau"),
    ("Benjamin Novak", "Ben Novak", "Benjamin Novák"),
    ("Ingrid Olsen",),
    ("Tara Robert",),
    ("Hugo Sanchez", "Hugo Sánchez"),
)
ORGANISATIONS = (
    ("Falcon Laboratories", "Falcon Labs", "Falcon-Laboratories"),
    ("Falcon Logistics",),
    ("Granite Systems", "Granite Systems Inc."),
    ("Harbor Works", "Harborworks"),
    ("Juniper Analytics", "Juniper Analytics Ltd"),
    ("Lantern Media", "The Lantern Media"),
    ("National Survey Office", "NSO"),
    ("Willow Foods",),
)
PLACES = (
    ("New York City", "NYC"),
    ("Saint Petersburg", "St. Petersburg"),
    ("Gothenburg", "Göteborg"),
    ("Lisbon", "Lisboa"),
    ("Bergen",),
    ("Leipzig",),
    ("Porto",),
    ("Vienna",),
)
PROJECTS = (
    ("Project Aurora", "Aurora", "Aurora project"),
    ("Project Comet 2", "Comet 2"),
    ("Project Comet 3", "Comet 3"),
    ("Project Meridian", "the Meridian project"),
    ("Project Ember",),
    ("Project Summit", "Project Sumit"),
)


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to tell a fact: of oneself (empty: never), of another, and what a reader calls the relation."""

    mine: str
    theirs: str
    name: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A kind of planted fact. `first` tells one, `change` one in place of another, `end` that it is over."""

    key: str
    kind: str  # functional, state, event
    source: str
    target: str
    first: tuple[Wording, ...]
    change: tuple[Wording, ...] = ()
    end: tuple[Wording, ...] = ()
    often: int = 2  # beside the others


# Readers do not always name a relation alike: some wordings come with another name.
RELATIONS = {
    relation.key: relation
    for relation in (
        Relation(
            "WORKS_AT",
            "functional",
            "person",
            "organisation",
            (
                Wording("I work at {o}.", "{s} works at {o}.", "WORKS_AT"),
                Wording("I am on the staff of {o}.", "{s} is on the staff of {o}.", "WORKS_AT"),
                Wording("My employer is {o}.", "{s}'s employer is {o}.", "EMPLOYED_BY"),
            ),
            (
                Wording("I changed jobs: I work at {o} now.", "{s} works at {o} now.", "WORKS_AT"),
                Wording("I have a new post at {o}.", "{s} has a new post at {o}.", "WORKS_AT"),
                Wording("I am now employed by {o}.", "{s} is now employed by {o}.", "EMPLOYED_BY"),
            ),
            often=4,
        ),
        Relation(
            "LIVES_IN",
            "functional",
            "person",
            "place",
            (
                Wording("I live in {o}.", "{s} lives in {o}.", "LIVES_IN"),
                Wording("My home is in {o}.", "{s}'s home is in {o}.", "LIVES_IN"),
                Wording("I have a flat in {o}.", "{s} has a flat in {o}.", "RESIDES_IN"),
            ),
            (
                Wording("I moved to {o}.", "{s} moved to {o}.", "LIVES_IN"),
                Wording("I have settled in {o}.", "{s} has settled in {o}.", "LIVES_IN"),
                Wording("I reside in {o} these days.", "{s} resides in {o} these days.", "RESIDES_IN"),
            ),
            often=4,
        ),
        Relation(
            "LEADS",
            "state",
            "person",
            "project",
            (
                Wording("I lead {o}.", "{s} leads {o}.", "LEADS"),
                Wording("I am in charge of {o}.", "{s} is in charge of {o}.", "LEADS"),
                Wording("I head {o}.", "{s} heads {o}.", "HEADS"),
            ),
            end=(
                Wording("I no longer lead {o}.", "{s} no longer leads {o}.", "LEADS"),
                Wording("I handed over {o}.", "{s} handed over {o} and no longer leads it.", "LEADS"),
            ),
        ),
        Relation(
            "FRIEND_OF",
            "state",
            "person",
            "person",
            (
                Wording("I am friends with {o}.", "{s} is friends with {o}.", "FRIEND_OF"),
                Wording("{o} is an old friend of mine.", "{o} is an old friend of {s}.", "FRIEND_OF"),
            ),
        ),
        Relation(
            "BASED_IN",
            "functional",
            "organisation",
            "place",
            (
                Wording("", "{s} is based in {o}.", "BASED_IN"),
                Wording("", "{s} has its head office in {o}.", "BASED_IN"),
                Wording("", "The headquarters of {s} are in {o}.", "HEADQUARTERED_IN"),
            ),
            (Wording("", "{s} moved its head office to {o}.", "BASED_IN"),),
        ),
        Relation(
            "BELONGS_TO",
            "functional",
            "project",
            "organisation",
            (
                Wording("", "{s} belongs to {o}.", "BELONGS_TO"),
                Wording("", "{s} is run by {o}.", "BELONGS_TO"),
                Wording("", "{s} is one of the projects of {o}.", "PROJECT_OF"),
            ),
        ),
        Relation(
            "VISITED",
            "event",
            "person",
            "place",
            (
                Wording("I visited {o} on {d}.", "{s} visited {o} on {d}.", "VISITED"),
                Wording("I spent {d} in {o}.", "{s} spent {d} in {o}.", "VISITED"),
            ),
        ),
    )
}
