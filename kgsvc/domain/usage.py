"""What model work cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Answered calls and the tokens that the model server counted. Zero where no model was asked."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Both costs together."""
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def __bool__(self) -> bool:
        """Whether anything was spent."""
        return bool(self.calls or self.prompt_tokens or self.completion_tokens)

    def share(self, parts: int) -> Usage:
        """An equal part of the cost, rounded down."""
        return Usage(self.calls // parts, self.prompt_tokens // parts, self.completion_tokens // parts)


FREE = Usage()
