"""Extraction by rules instead of a model (docs/concepts.md): deterministic, and linear in the text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kgsvc.domain.errors import StepError
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Source
from kgsvc.models.protocol import Extracted
from kgsvc.models.rules.prose import read_text
from kgsvc.models.rules.records import read_json
from kgsvc.models.rules.scene import Scene, Told
from kgsvc.models.rules.speakers import cast_of, enter, heading_of, speaker_of, turns_of
from kgsvc.models.rules.text import cleaned
from kgsvc.together import Together

# Batches of several groups are read in one run of a thread: groups that are ready at the same time then share
# reads of the store, and threads that take turns only cost time.
_BATCHES = 64  # of one run
_CHARACTERS = 32_768  # in the bodies of one run, unless a single batch has more
_AT_ONCE = 2  # runs; a long document does not keep all others waiting


class OfflineExtractor:
    """Implements Extractor without network, key or model."""

    name = "offline"
    costs_model_calls = False

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._batches = Together[Sequence[ExtractionRequest], list[Extracted | Exception]](
            self._extract_batches, _characters, _BATCHES, _CHARACTERS, _AT_ONCE
        )

    async def extract(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception]:
        """See Extractor. Raises no error of a single request."""
        results = await self._batches.run(None, requests)
        if isinstance(results, Exception):
            raise results
        return results

    async def close(self) -> None:
        """Nothing to release."""

    async def _extract_batches(
        self, batches: Sequence[Sequence[ExtractionRequest]]
    ) -> list[list[Extracted | Exception] | Exception]:
        return await asyncio.to_thread(lambda: [self._outcome(batch) for batch in batches])

    def _outcome(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception] | Exception:
        try:
            return self._extract_all(requests)
        except Exception as error:  # noqa: BLE001 - raised to the caller of this batch, not to the others
            return error

    def _extract_all(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception]:
        results: list[Extracted | Exception] = []
        for request in requests:
            try:
                results.append(extract_one(request, self._limits))
            except StepError as error:
                results.append(error)
        return results


def _characters(requests: Sequence[ExtractionRequest]) -> int:
    return sum(len(request.episode.body) for request in requests)


def extract_one(request: ExtractionRequest, limits: Limits) -> Extracted:
    """What the rules find in one episode, and whether some of it found no room."""
    scene = _read(request, limits)
    return Extracted(scene.extraction(), warnings=scene.warnings())


def _read(request: ExtractionRequest, limits: Limits) -> Scene:
    episode = replace(request.episode, body=cleaned(request.episode.body))
    request = replace(request, episode=episode)
    scene = Scene(limits, episode.reference_ms, len(episode.body))
    cast = cast_of(request)
    if episode.source is Source.JSON and read_json(scene, episode, cast):
        return scene
    last, other = None, None  # who spoke, and who did before
    for number, turn in enumerate(turns_of(episode)):
        said = partial(_told_before, request, limits, turn.speaker)
        if turn.speaker and turn.speaker != last:
            last, other = turn.speaker, last
        content = enter(scene, cast, turn, episode, other)
        if not number and (turn.speaker is None or episode.source is Source.DOCUMENT):
            subject = [scene.subject.name] if scene.subject else []
            for level, title in enumerate(scene.headings or subject, 1):
                scene.head(level, title)
        if heading := heading_of(turn):
            scene.head(*heading)  # and nobody says more than that
        else:
            read_text(scene, content, cast, said)
    return scene


def _told_before(request: ExtractionRequest, limits: Limits, speaker: str | None) -> list[Told]:
    """What the speaker's last message before an episode claims; it is read again, on a scene of its own."""
    episode = next((each for each in reversed(request.previous) if speaker_of(each) == speaker), None)
    if episode is None or speaker is None:
        return []
    scene = Scene(limits, episode.reference_ms, len(episode.body))
    cast = cast_of(replace(request, episode=replace(episode, body=cleaned(episode.body))))
    turn = turns_of(episode)[-1]
    return read_text(scene, enter(scene, cast, turn, episode), cast)
