"""JSON: objects with a name or an id are entities, their fields attributes and facts.

A field that holds what was and what is tells a change; amounts keep their currency; dates say since when the
facts of their object hold and are no entities. An id names what other records say under it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import Episode, FactKind, Polarity
from kgsvc.models.rules import fields
from kgsvc.models.rules.prose import finished, read_text
from kgsvc.models.rules.relations import screaming
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.speakers import Cast, short_names
from kgsvc.models.rules.text import cleaned, mapping, word_list, word_set

_MOST_ATTRIBUTES = 60  # of at most twice LONGEST_VALUE characters each: within the bound of attributes
_EVENT_KEYS = ("event", "event_type", "action")
_FROM_KEYS = word_list(
    "valid_from effective effective_date effective_from since start start_date started on date from"
)
_UNTIL_KEYS = word_list("valid_to valid_until until end end_date")
_CHANGES = (("old", "new"), ("from", "to"), ("before", "after"), ("previous", "current"))
_CORRECTIONS = (("wrong", "right"), ("recorded", "correct"), ("incorrect", "correct"))
_PARTING = word_set(
    "left terminated ended cancelled canceled removed fired deleted expired revoked released returned"
)
_STAFF = word_set("staff employee personnel worker")
_PLACES_OF_WORK = word_set("depot office branch workplace")
_LINKS = word_set("by to at in of with from for")  # a key that ends so is a relation by itself: "closed_by"
# Keys that mean a relation of the table; other keys become HAS_<KEY>.
_KNOWN_KEYS = mapping("""
company:WORKS_AT employer:WORKS_AT organization:WORKS_AT organisation:WORKS_AT works_at:WORKS_AT
city:LIVES_IN lives_in:LIVES_IN residence:LIVES_IN hometown:IS_FROM spouse:MARRIED_TO languages:SPEAKS
interests:INTERESTED_IN likes:LIKES hobbies:LIKES leads:LEADS member_of:MEMBER_OF reports_to:REPORTS_TO
""")
_TARGETS = {"WORKS_AT": "Organization", "LIVES_IN": "Location", "IS_FROM": "Location"}
_LISTED = {"LIKES", "SPEAKS", "INTERESTED_IN", "MEMBER_OF", "LEADS"}
_ASSERTS = Polarity.ASSERTS
_Ends = tuple[NodeDraft, NodeDraft]
_HYPHEN = re.compile(r"[._\s-]+")


def read_json(scene: Scene, episode: Episode, cast: Cast) -> bool:
    """Add what a JSON body says to the scene; False if the body is no JSON object or list."""
    try:
        value = json.loads(episode.body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, (dict, list)):
        return False
    scene.aliases = cast.aliases
    scene.source = (episode.source_description or "").strip()
    name = fields.singular((episode.name or "").strip())
    _Walk(scene, cast).value(fields.clean(value, 0), _ValuePlace(name, None, scene.reference_ms))
    return True


@dataclass(frozen=True, slots=True)
class _ValuePlace:
    """Where a value stands: under which key of which entity, how deep, whether among others; since when what
    it says holds, until when; whether it tells what is over."""

    key: str
    owner: NodeDraft | None
    since: int
    until: int | None = None
    depth: int = 0
    listed: bool = False
    event: bool = False
    over: bool = False
    currency: str = ""

    def inner(self, key: str, owner: NodeDraft | None) -> _ValuePlace:
        return replace(self, key=key, owner=owner, depth=self.depth + 1, listed=False)


class _Walk:
    def __init__(self, scene: Scene, cast: Cast) -> None:
        self.scene, self.cast = scene, cast

    def value(self, value: Any, place: _ValuePlace) -> None:
        """Take in one value."""
        if place.depth > fields.DEEPEST:
            return
        if isinstance(value, dict):
            self._object(value, place)
        elif isinstance(value, list):
            for item in value:
                self.value(
                    item, replace(place, key=fields.singular(place.key), depth=place.depth + 1, listed=True)
                )
        elif isinstance(value, str) and (place.owner is None or fields.is_text(place.key, value)):
            self._text(value, place.owner)
        elif place.owner is not None and isinstance(value, fields.SCALARS):
            self._scalar(value, place, place.owner)

    def _object(self, value: dict[str, Any], place: _ValuePlace) -> None:
        speech = fields.speech_of(value)
        if speech is not None:
            self._spoken(*speech)
            return
        place = self._dated(value, place)
        if place.owner is not None and self._change(value, place, place.owner):
            return
        name_key, name = fields.name_of(value, place.key)
        amount = fields.amount_of(value, place.currency)
        if not name and amount and place.owner is not None:
            self._fact(place.owner, place, None, amount)
            return
        draft = self.scene.node(name, fields.kind_of(value, place.key)) if name else None
        if draft is None:
            self._nameless(value, place)
            return
        if place.owner is not None:
            self._fact(place.owner, place, draft, draft.name)
        self._identified(value, name_key, draft, place)
        if amount:
            self._fact(draft, place.inner("price", draft), None, amount)
        self._fields(
            value, draft, place, {name_key, *(("amount", "currency", "per", "percent") if amount else ())}
        )

    def _identified(
        self, value: Mapping[str, Any], name_key: str, draft: NodeDraft, place: _ValuePlace
    ) -> None:
        """The id of what has a name means the same: later records may give only that."""
        if name_key in fields.IDENTITY_KEYS:
            return
        for key in fields.IDENTITY_KEYS:
            found = value.get(key)
            if isinstance(found, str) and fields.ID.fullmatch(found) and found != draft.name:
                other = self.scene.node(found, draft.type)
                if other is not None and other is not draft:
                    fact = f"{found} is {draft.name}."
                    self._edge("RENAMED_TO", fact, (other, draft), place, FactKind.EVENT)
                return

    def _nameless(self, value: dict[str, Any], place: _ValuePlace) -> None:
        """An object without a name: its fields belong to its owner, or to the first thing it tells of."""
        if place.owner is not None:
            parting = place.key.lower() in _PARTING
            place = replace(place, over=place.over or parting)
            for key, item in value.items():
                under = place.key and not parting
                self.value(item, place.inner(f"{place.key} {key}" if under else key, place.owner))
            return
        event = fields.first_text(value, _EVENT_KEYS)
        main_key, main = self._main(value, event, place)
        place = replace(place, event=not main_key, over=_HYPHEN.split(event)[-1] in _PARTING)
        if main is None:
            for key, item in value.items():
                self.value(item, place.inner(key, None))
            return
        if isinstance(value.get(main_key), dict):
            inner = self._dated(value[main_key], place)
            self._fields(value[main_key], main, inner, fields.naming_keys(value[main_key], main))
        self._fields(value, main, place, {main_key, *_EVENT_KEYS, "event_id", "of_event", "id"})

    def _main(self, value: dict[str, Any], event: str, place: _ValuePlace) -> tuple[str, NodeDraft | None]:
        """What a record is about: what its event is named after, else the first thing in it."""
        stem = _HYPHEN.split(event)[0] if event else ""
        keys = [stem, f"{stem}_id", *value] if stem else list(value)
        for key in keys:
            item = value.get(key)
            if isinstance(item, dict):
                name = fields.name_of(item, key)[1]
                if name:
                    draft = self.scene.node(name, fields.kind_of(item, key))
                    if draft is not None:
                        self._identified(item, fields.name_of(item, key)[0], draft, place)
                    return key, draft
            elif isinstance(item, str) and key not in ("event_id", "of_event") and fields.ID.fullmatch(item):
                return key, self.scene.node(item, "Entity")
        for key, item in value.items():
            if isinstance(item, str) and key not in _EVENT_KEYS and fields.is_name(item):
                return key, self.scene.node(item.strip(), fields.kind_of({}, key))
        text = place.key or next(
            (v.strip() for v in value.values() if isinstance(v, str) and v.strip()), "record"
        )
        flat = any(isinstance(item, fields.SCALARS) for item in value.values())
        return "", self.scene.node(text[: fields.LONGEST_VALUE], "Entity") if flat or place.key else None

    def _fields(
        self, value: Mapping[str, Any], draft: NodeDraft, place: _ValuePlace, but: Iterable[str]
    ) -> None:
        currency = fields.first_text(value, ("currency",)) or place.currency
        for key, item in value.items():
            if key in but or key in fields.TYPE_KEYS or (key == "currency" and isinstance(item, str)):
                continue
            self._attribute(draft, key, item)
            self.value(item, replace(place.inner(key, draft), currency=currency))

    def _attribute(self, draft: NodeDraft, key: str, item: Any) -> None:
        if not isinstance(item, fields.SCALARS) or len(draft.attributes) >= _MOST_ATTRIBUTES:
            return
        if not isinstance(item, str) or (len(item) <= fields.LONGEST_VALUE and not fields.is_text(key, item)):
            draft.attributes[key[: fields.LONGEST_VALUE]] = fields.storable(item)

    def _dated(self, value: Mapping[str, Any], place: _ValuePlace) -> _ValuePlace:
        since, until = fields.first_moment(value, _FROM_KEYS), fields.first_moment(value, _UNTIL_KEYS)
        since = place.since if since is None else since
        until = place.until if until is None else until
        return replace(place, since=since, until=until if until is None or until > since else None)

    # changes

    def _change(self, value: Mapping[str, Any], place: _ValuePlace, owner: NodeDraft) -> bool:
        """{"old": …, "new": …} under a key: the one ends where the other begins."""
        for first, second in (*_CHANGES, *_CORRECTIONS):
            if second not in value or first not in value or fields.moment_of(value[second]) is not None:
                continue
            wrong = (first, second) in _CORRECTIONS
            per = fields.first_text(value, ("per",))
            if isinstance(value.get("field"), str):
                place = replace(place, key=value["field"])
            self._changed(value[first], value[second], place, owner, wrong, per)
            rest = {key: item for key, item in value.items() if key not in (first, second, "per", "field")}
            for key, item in rest.items():
                self.value(item, place.inner(f"{place.key} {key}", owner))
            return True
        return False

    def _changed(
        self, old: Any, new: Any, place: _ValuePlace, owner: NodeDraft, wrong: bool, per: str
    ) -> None:
        if place.key in fields.NAME_KEYS and isinstance(old, str) and isinstance(new, str):
            before, after = self.scene.node(old, owner.type), self.scene.node(new, owner.type)
            if before is not None and after is not None:
                fact = f"{old} is now called {new}."
                self._edge("RENAMED_TO", fact, (before, after), place, FactKind.EVENT)
            return
        polarity = Polarity.DENIES if wrong else Polarity.ENDS
        for item, how in ((old, polarity), (new, Polarity.ASSERTS)):
            inner = item if isinstance(item, dict) else {}
            name = fields.name_of(inner, place.key)[1]
            text = name or fields.amount_of(inner, place.currency, per) or fields.written_as(item)
            named = bool(name) or fields.names_something(item)
            target = self.scene.node(text, fields.kind_of(inner, place.key)) if named else None
            if text and (target is not None or how is Polarity.ASSERTS):
                self._fact(owner, place, target, text, how)

    # facts

    def _scalar(self, value: str | float | bool, place: _ValuePlace, owner: NodeDraft) -> None:
        written = fields.written_as(value)
        if not written or place.key in fields.TYPE_KEYS or place.key in fields.IDENTITY_KEYS:
            return
        key = place.key.rsplit(" ", 1)[-1]
        dated = fields.moment_of(value) is not None
        if key == "was" or (dated and (key in _FROM_KEYS or key in _UNTIL_KEYS)):
            return  # the facts of its owner say it
        person = fields.singular(place.key).lower() in fields.PEOPLE_KEYS
        named = fields.names_something(value) or (isinstance(value, str) and person)
        named = named and key not in fields.NAME_KEYS  # the name of its owner, who goes by an id
        target = (
            self.scene.node(self.scene.full_name(written), fields.kind_of({}, place.key))
            if named or place.listed
            else None
        )
        self._fact(owner, place, target, written)

    def _fact(
        self,
        owner: NodeDraft,
        place: _ValuePlace,
        target: NodeDraft | None,
        said: str,
        how: Polarity = _ASSERTS,
    ) -> None:
        name, words, swapped = self._relation(owner, place, target)
        if name in _TARGETS:
            target = target or self.scene.node(said, _TARGETS[name])
            owner.specify("Person" if not swapped else "")
            (owner if swapped else target or owner).specify(_TARGETS[name])
        kind = FactKind.STATE if (place.listed and not swapped) or name in _LISTED else FactKind.FUNCTIONAL
        if place.over and target is not None and how is _ASSERTS:
            how = Polarity.ENDS
        words = f"no longer {words}" if how is Polarity.ENDS else words
        target = target or owner
        ends = (target, owner) if swapped else (owner, target)
        end = ends[1].name if swapped else said
        since = "" if place.since == self.scene.reference_ms else f" from {fields.day_text(place.since)}"
        denied = "Not so: " if how is Polarity.DENIES else ""
        self._edge(name, f"{denied}{ends[0].name} {words} {end}{since}.", ends, place, kind, how)

    def _relation(
        self, owner: NodeDraft, place: _ValuePlace, target: NodeDraft | None
    ) -> tuple[str, str, bool]:
        """The relation that a key means, its words, and whether it goes from the value to the owner."""
        key = place.key.lower()
        single = fields.singular(key)
        if single in _STAFF and target is not None:
            return "WORKS_AT", "works at", True
        known = _KNOWN_KEYS.get(key) or _KNOWN_KEYS.get(f"{key}s", "")
        if single in _PLACES_OF_WORK and owner.type == "Person":
            known = "WORKS_AT"
        if known in ("WORKS_AT", "LIVES_IN", "LIKES", "SPEAKS") and owner.type not in ("Person", "Entity"):
            known = ""
        if known:
            return known, "is from" if known == "IS_FROM" else known.lower().replace("_", " "), False
        words = fields.words_of_key(place.key)
        if words.rsplit(" ", 1)[-1] in _LINKS and " " in words:
            return screaming(words), f"was {words}" if words.endswith(" by") else f"is {words}", False
        return screaming(f"HAS_{fields.words_of_key(fields.singular(place.key))}"), f"has {words}", False

    def _edge(
        self, name: str, fact: str, ends: _Ends, place: _ValuePlace, kind: FactKind, how: Polarity = _ASSERTS
    ) -> None:
        until = place.until if how is _ASSERTS else None
        since = None if how is Polarity.DENIES else place.since
        if place.event:  # named after one of its values: something that happened, not a thing
            kind, since, until = FactKind.EVENT, None, None
        refs = (ends[0].ref, ends[1].ref)
        self.scene.add(ExtractedEdge(name, finished(fact), *refs, since, until, kind, how))

    def _text(self, text: str, owner: NodeDraft | None) -> None:
        before = self.scene.subject
        if owner is not None:
            self.scene.subject = owner
            self.scene.aliases = {**short_names([owner.name]), **self.scene.aliases}
        read_text(self.scene, cleaned(text), self.cast)
        self.scene.subject = before

    def _spoken(self, speaker: str, text: str) -> None:
        before = self.scene.speaker
        self.scene.speaker = self.scene.node(speaker, "Person")
        read_text(self.scene, cleaned(text), self.cast)
        self.scene.speaker = before
