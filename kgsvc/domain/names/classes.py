"""Which types exclude one another: nothing is a person and a place. Pure.

| Class | Types |
|---|---|
| person | Person |
| organisation | Organization, Organisation, Company, Institution, Team |
| place | Location, Place, City, Country, Region |
| made | Product, Project, Work, Document |
| event | Event |
| time | Time, Date |

Other types (Topic, Object, a group's own) exclude nothing. What is read from texts wavers between an
organisation and its place (a clinic, a restaurant), its product or its project (a service that bears its
maker's name), and between what is made and its event (a release): only a model tells such two apart, no rule
does.
"""

from __future__ import annotations

from collections.abc import Collection

PERSON, ORGANISATION, PLACE, MADE, EVENT, TIME = "person", "organisation", "place", "made", "event", "time"
CLASSES = (PERSON, ORGANISATION, PLACE, MADE, EVENT, TIME)
_TYPES = {
    PERSON: "Person",
    ORGANISATION: "Organization Organisation Company Institution Team",
    PLACE: "Location Place City Country Region",
    MADE: "Product Project Work Document",
    EVENT: "Event",
    TIME: "Time Date",
}
_CLASS_OF = {name.casefold(): each for each, names in _TYPES.items() for name in names.split()}
_WAVERING = frozenset(
    {frozenset({ORGANISATION, PLACE}), frozenset({ORGANISATION, MADE}), frozenset({MADE, EVENT})}
)


def classes_of(types: Collection[str]) -> frozenset[str]:
    """The classes of types; none where they exclude nothing."""
    return frozenset(found for name in types if (found := _CLASS_OF.get(name.casefold())) is not None)


def exclude(one: Collection[str], other: Collection[str]) -> bool:
    """Whether things of these types are two: both have classes, and none in common."""
    first, second = classes_of(one), classes_of(other)
    return bool(first and second) and first.isdisjoint(second)


def surely_exclude(one: Collection[str], other: Collection[str]) -> bool:
    """Whether they are two whoever read them: `exclude`, but for classes between which readings waver."""
    first, second = classes_of(one), classes_of(other)
    wavers = any(frozenset({a, b}) in _WAVERING for a in first for b in second)
    return exclude(one, other) and not wavers
