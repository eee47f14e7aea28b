"""Answers about facts, said in short."""

from collections.abc import Iterable

from kgsvc.domain.resolution.decisions import FactResolution, Judged, KnownRef, Verdict


def judged(
    since_ms: int | None = None, fact_type: str | None = None, **known: Iterable[int]
) -> FactResolution:
    """What a fact means for known ones, by verdict: judged(repeats=[5], replaced=[6])."""
    said = {idx: (Verdict(each), since_ms) for each, idxs in known.items() for idx in idxs}
    return FactResolution(said, fact_type)


def replaced(*refs: KnownRef) -> tuple[Judged, ...]:
    """That these no longer hold, as a decision keeps it."""
    return tuple(Judged(ref, Verdict.REPLACED) for ref in refs)
