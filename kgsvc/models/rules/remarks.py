"""Sentences that fit no pattern: kept as what somebody said about something, so that they can be found."""

from __future__ import annotations

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.phrases import NAME, UH
from kgsvc.models.rules.reading import Reading
from kgsvc.models.rules.referents import content_words, salient_topic
from kgsvc.models.rules.scene import Draft, Scene
from kgsvc.models.rules.text import LONGEST
from kgsvc.models.rules.wording import Wording, finished

SAID, ASKED, MENTIONED = "SAID", "ASKED", "MENTIONED"
_SUBSTANCE = 3  # content words that make a sentence worth a fact even if it names nothing
_WEIGHTS = {SAID: 0.5, MENTIONED: 0.5, ASKED: 0.3}


class Remarks:
    """Takes the sentences of one text that state nothing, in order."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.slight: list[Reading] = []

    def add(self, reading: Reading, wording: Wording) -> None:
        """Keep a sentence if it names something or has substance; else remember it as slight."""
        substance = content_words(reading.units)
        dated = any(time.begin_ms is not None for time in reading.times)
        telling = substance >= _SUBSTANCE or dated or _named(reading, self.scene)[0] is not None
        if not telling or substance <= len(reading.names) or not self._keep(reading, wording, ""):
            self.slight.append(reading)

    def finish(self, sentences: int) -> None:
        """A message of slight sentences only makes one fact of them together, if there is anything in it."""
        if self.scene.speaker is None or len(self.slight) != sentences or not self.slight:
            return
        substance = [content_words(reading.units) for reading in self.slight]
        if sum(substance) >= _SUBSTANCE:
            richest = self.slight[substance.index(max(substance))]
            words = " ".join(reading.sentence for reading in self.slight)[:LONGEST]
            self._keep(richest, Wording(richest), words)

    def _keep(self, reading: Reading, wording: Wording, words: str) -> bool:
        scene = self.scene
        named, addressed = _named(reading, scene)
        source = scene.speaker or scene.subject or scene.latest_named(named) or self._topic(reading)
        target = named if named is not source else None
        target = target or self._topic(reading, source) or addressed or scene.listener
        if source is None or target is None:
            return False
        name = SAID if scene.speaker is not None else MENTIONED
        name = ASKED if scene.speaker is not None and reading.question else name
        fact = f"{source.name} said: {words}" if words else self._fact(reading, wording, source)
        when, weight = self._when(reading), _WEIGHTS[name]
        edge = ExtractedEdge(name, fact, source.ref, target.ref, when, kind=FactKind.EVENT, weight=weight)
        return scene.add(edge)

    def _topic(self, reading: Reading, but: Draft | None = None) -> Draft | None:
        topic = salient_topic(reading.units, reading.sentence)
        draft = self.scene.node(topic, "Topic") if topic else None
        return draft if draft is not but else None

    def _fact(self, reading: Reading, wording: Wording, source: Draft) -> str:
        """The sentence so that it reads alone, with who says it or what it is about."""
        text = finished(wording.whole())
        if len(text) + len(source.name) + 10 > self.scene.limits.fact:
            text = reading.sentence  # long names in place of many pronouns
        if self.scene.speaker is None:
            return text if source.name.lower() in text.lower() else f"{source.name}: {text}"
        if reading.question:
            return f"{source.name} asked: {reading.sentence}"
        if reading.staged:
            return f"{source.name} {text[:1].lower()}{text[1:]}"
        return text if text.startswith(source.name) else f"{source.name} said: {text}"

    def _when(self, reading: Reading) -> int | None:
        """The first time stated that is not to come."""
        begins = (time.begin_ms for time in reading.times if time.role != "for")
        return next((ms for ms in begins if ms is not None and ms <= self.scene.reference_ms), None)


def _named(reading: Reading, scene: Scene) -> tuple[Draft | None, Draft | None]:
    """The first name that the sentence is about, and the first that it only addresses; not the speaker's."""
    addressed: Draft | None = None
    for index, unit in enumerate(reading.units):
        draft = reading.meant.get(index) if unit.tag in (NAME, UH) else None
        if draft is None or draft is scene.speaker:
            continue
        if not reading.is_vocative(index):
            return draft, addressed
        addressed = addressed or draft
    return None, addressed
