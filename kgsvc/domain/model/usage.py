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

    def split(self, parts: int) -> list[Usage]:
        """The cost in parts that are as equal as whole numbers can be, the greater ones first; together they
        are all of it."""
        columns = (_split(whole, parts) for whole in (self.calls, self.prompt_tokens, self.completion_tokens))
        return [Usage(*values) for values in zip(*columns, strict=True)]


def _split(whole: int, parts: int) -> list[int]:
    least, more = divmod(whole, parts)
    return [least + (n < more) for n in range(parts)]


FREE = Usage()
