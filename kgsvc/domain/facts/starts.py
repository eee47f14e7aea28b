"""When what was announced begins, where that is told elsewhere than in its own words. Pure.

- What is told again of an announced start before it comes, without a date ("Ann will be my boss"), holds from
  that start and not from when it was told.
- A start may have been found to move with another: the role, the salary and the boss of a job that begins a
  week later. The statements stay as they were told; the finding, kept on the fact, says when it begins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kgsvc.domain.facts.statements import EdgeStatement, Ending, Row
from kgsvc.domain.model.graph import Closure, Evidence, Polarity

_Key = tuple[str, str, str]  # EdgeWording.key


class Starts:
    """Statements of one slot with the starts that they have by now, and their evidence as it was told."""

    def __init__(self, moves: Iterable[Ending]) -> None:
        self._moves: defaultdict[_Key, list[Closure]] = defaultdict(list)
        for each in moves:
            self._moves[each.key].append(each.closure)
        for closures in self._moves.values():
            closures.sort(key=lambda closure: (closure.reference_ms, closure))
        self._told: dict[tuple[_Key, Evidence], Evidence] = {}

    def moved(self, statements: Iterable[EdgeStatement]) -> list[EdgeStatement]:
        """The statements, those whose announced start moves with the start found last."""
        return [self._moved(each) for each in statements] if self._moves else list(statements)

    def _moved(self, each: EdgeStatement) -> EdgeStatement:
        by, told = self._moves.get(each.wording.key, [])[-1:], each.evidence
        announced = each.announced and not (each.asserted or told.says)
        if not by or not announced or by[0].reference_ms < told.reference_ms:
            return each
        return self._beginning(each, by[0].at_ms)

    def awaited(self, statements: Sequence[EdgeStatement]) -> list[EdgeStatement]:
        """The statements, those told before an announced start, without a date, with that start."""
        announced: defaultdict[_Key, list[tuple[int, int]]] = defaultdict(list)
        for each in statements:
            if each.announced and each.wording.polarity is Polarity.ASSERTS:
                announced[each.wording.key].append((each.evidence.reference_ms, each.evidence.start_ms))
        for starts in announced.values():
            starts.sort()
        found: list[EdgeStatement] = []
        for each in statements:
            told_ms, starts = each.evidence.reference_ms, announced.get(each.wording.key, [])
            before = bisect_left(starts, (told_ms + 1,)) if starts and _is_undated(each) else 0
            awaits = before > 0 and starts[before - 1][1] > told_ms
            found.append(self._beginning(each, starts[before - 1][1]) if awaits else each)
        return found

    def _beginning(self, each: EdgeStatement, start_ms: int) -> EdgeStatement:
        """The statement with another start. An end that would come before it moves along."""
        told = each.evidence
        end_ms = told.stated_invalid_ms
        if end_ms is not None and end_ms <= start_ms:
            end_ms += start_ms - told.start_ms
        evidence = replace(told, start_ms=start_ms, stated_invalid_ms=end_ms)
        self._told[each.wording.key, evidence] = told
        return replace(each, evidence=evidence)

    def as_told(self, rows: list[Row]) -> list[Row]:
        """The rows, with their evidence as it was told, and with what moves the starts of their words: it
        also counts for what arrives later and was told before."""
        for row in rows if self._told or self._moves else ():
            key = row.wording.key
            row.closures.extend(self._moves.get(key, ()))
            row.evidence = [self._told.get((key, each), each) for each in row.evidence]
        return rows


def _is_undated(each: EdgeStatement) -> bool:
    dated = each.evidence.stated_valid_ms is not None or each.closed or each.evidence.says or each.asserted
    return not dated and each.wording.polarity is Polarity.ASSERTS
