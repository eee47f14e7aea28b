"""Corrections: "sorry, not Graz, Linz" takes back what the same speaker claimed of the one right before, and
says it of the other; "wait, I meant Tuesday" gives a value its other date. Only where one claim can be meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgsvc.domain.model.graph import Polarity
from kgsvc.models.rules.claims import Drafted
from kgsvc.models.rules.marking import Line
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.times import find_times

Told = tuple[Drafted, str]  # a claim and its words

_CUE = r"^(?:(?:oh|ah|oops|sorry|wait|no|correction|actually|hang on|my mistake|scratch that|[,:.!-]) )+"
_SMALL = r"(?:(?:it|that|'s|is|was|the|in|at|to|on|for|with|make|I|meant|mean|said|but|,) )*"
_PAIRS = (
    re.compile(rf"{_CUE}{_SMALL}not {_SMALL}(?P<old>N\d+) {_SMALL}(?P<new>N\d+)(?= [.,;!-]|$)"),
    re.compile(rf"{_CUE}{_SMALL}(?P<new>N\d+) , {_SMALL}not {_SMALL}(?P<old>N\d+)(?= [.,;!-]|$)"),
)
_MEANT = re.compile(rf"(?:{_CUE}|^)I meant {_SMALL}(?P<new>[NT]\d+)(?= [.,;!-]|$)")


def is_correction(line: Line) -> bool:
    """Whether a sentence corrects something said before."""
    return any(pattern.match(line.text) for pattern in (*_PAIRS, _MEANT))


def corrected(line: Line, scene: Scene, told: Sequence[Told]) -> Iterator[Told]:
    """What is taken back and what holds instead, given what the speaker claimed right before."""
    pair = next((match for pattern in _PAIRS if (match := pattern.match(line.text))), None)
    meant = _MEANT.match(line.text)
    held = [each for each in told if each[0].polarity is Polarity.ASSERTS]
    if pair is not None:
        old, new = line.names[int(pair["old"][1:])], line.names[int(pair["new"][1:])]
        found = [each for each in held if old is not None and each[0].target.name == old.name]
    elif meant is not None and meant["new"][0] == "N":
        old, new = None, line.names[int(meant["new"][1:])]
        found = [each for each in held if each[0].target is not each[0].source]
    else:
        yield from _another_date(line, scene, held, meant)
        return
    if len({id(each[0].target) for each in found}) == 1 and new is not None:
        for draft, words in found:
            yield from _instead(scene, draft, words, new)


def _instead(scene: Scene, draft: Drafted, words: str, new: NodeDraft) -> Iterator[Told]:
    source = scene.node(draft.source.name, draft.source.type)
    target = scene.node(draft.target.name, draft.target.type)
    if source is None or target is None or new in (source, target) or draft.target.name not in words:
        return
    new.specify(draft.target.type)
    yield (
        draft._replace(source=source, target=target, polarity=Polarity.DENIES, valid_ms=None),
        f"Not so: {words}",
    )
    yield draft._replace(source=source, target=new), words.replace(draft.target.name, new.name)


def _another_date(
    line: Line, scene: Scene, held: Sequence[Told], meant: re.Match[str] | None
) -> Iterator[Told]:
    values = [each for each in held if each[0].relation.startswith("HAS_")]
    if meant is None or len(held) != 1 or len(values) != 1:
        return
    draft, words = values[0]
    source, target = (scene.node(each.name, each.type) for each in (draft.source, draft.target))
    dates = find_times(words, scene.reference_ms)
    time = line.times[int(meant["new"][1:])]
    if len(dates) == 1 and source is not None and target is not None:
        said = line.sentence[time.start : time.end].removeprefix("on ")
        was = words[dates[0].start : dates[0].end]
        new = words.replace(was, f"on {said}" if was.startswith("on ") else said)
        yield draft._replace(source=source, target=target, valid_ms=scene.reference_ms), new
