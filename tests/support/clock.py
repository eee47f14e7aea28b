"""A clock that tests set."""

from dataclasses import dataclass


@dataclass
class SetClock:
    """Stands still until a test moves it."""

    ms: int

    def now_ms(self) -> int:
        """As set."""
        return self.ms

    def monotonic(self) -> float:
        """The same in seconds."""
        return self.ms / 1000
