"""What was believed of a fact before its row changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Belief:
    """The interval, expiry and words of a fact as they were held until `until_ms` in system time.

    The belief before it, or the creation of the row, is its beginning. Fields mean what they mean in Fact.
    """

    until_ms: int
    valid_ms: int | None
    reference_ms: int
    invalid_ms: int | None = None
    expired_ms: int | None = None
    expired_reason: str | None = None
    fact: str = ""  # "": the words that the row has now

    @property
    def start_ms(self) -> int:
        """When it was believed to begin."""
        return self.reference_ms if self.valid_ms is None else self.valid_ms

    def row(self) -> list[str | int | None]:
        """As stores keep it: the fields in order, without absent ones at the end."""
        fields: list[str | int | None] = [
            *(self.until_ms, self.valid_ms, self.reference_ms),
            *(self.invalid_ms, self.expired_ms, self.expired_reason, self.fact),
        ]
        while fields[-1] in (None, ""):
            fields.pop()
        return fields
