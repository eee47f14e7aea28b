"""The types in force where nobody says otherwise: the nine of spec 000, and those that extraction without a
model tells apart besides. No fact types: relations are named freely."""

from __future__ import annotations

from kgsvc.domain.ontology import Attribute, EntityType, Ontology, Priority, ValueKind

_PREFERENCE = EntityType(
    "Preference",
    "What somebody wants, likes, prefers or chooses, or does not want, dislikes, avoids or rejects. "
    "Goes before every other type.",
    Priority.HIGHEST,
)
_REQUIREMENT = EntityType(
    "Requirement",
    'Something that is needed or must hold: "we need", "is required", "must have"; functions, qualities such '
    "as performance and security, constraints. Clear, specific and measurable ones.",
    Priority.HIGH,
    (
        Attribute("project_name", ValueKind.STR, "the project that it belongs to", required=True),
        Attribute("description", ValueKind.STR, "what is required", required=True),
    ),
)
_PROCEDURE = EntityType(
    "Procedure", 'How something is done, in steps or as a rule: "first X, then Y", "always X when Y".'
)
_PERSON = EntityType("Person", "A human being, by name or as the one who speaks.")
_ORGANIZATION = EntityType("Organization", "A company, institution, agency, team or other body.")
_DOCUMENT = EntityType("Document", "A book, article, report, video or other recorded content.")
_EVENT = EntityType("Event", "Something that happens at a time: a meeting, a trip, an incident.")
_PROJECT = EntityType("Project", "An undertaking with a name and an aim.")
_PRODUCT = EntityType("Product", "Something made to be sold or used: a device, an application, a service.")
_WORK = EntityType("Work", "A work of art or entertainment: a film, song, novel, show or game.")
_LOCATION = EntityType("Location", "A physical or virtual place.", Priority.LOW)
_TOPIC = EntityType("Topic", "A theme of the conversation, an interest or a field.", Priority.LOWEST)
_OBJECT = EntityType("Object", "A physical item or tool that fits nothing else.", Priority.LOWEST)
_VALUE = EntityType(
    "Value",
    "A quantity or code that a record names, with what it counts; never a number alone.",
    Priority.LOWEST,
)

DEFAULT = Ontology(
    (
        _PREFERENCE,
        _REQUIREMENT,
        _PROCEDURE,
        _PERSON,
        _ORGANIZATION,
        _DOCUMENT,
        _EVENT,
        _PROJECT,
        _PRODUCT,
        _WORK,
        _LOCATION,
        _TOPIC,
        _OBJECT,
        _VALUE,
    )
)
