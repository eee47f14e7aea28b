"""What the service refuses while it is read-only.

Whatever removes is taken all the same: the right to have something erased does not wait for an operator, and
what is erased was not changed. So is SetModes, which ends the mode.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from kgsvc.access.scopes import Right
from kgsvc.api.access import RIGHTS
from kgsvc.api.calls import Context, Wrapping
from kgsvc.jobs.modes import ModeWatch

_ERASING = {"DeleteEntityEdge", "DeleteEpisode", "DeleteDocument", "DeleteGroup", "ClearAll"}
_READING = {"ExportGroup"}  # for which an administrator's right is needed all the same
_WRITING = {operation for operation, right in RIGHTS.items() if right > Right.READ}
REFUSED = frozenset(_WRITING - _ERASING - _READING - {"SetModes"})


class ModeInterceptor(Wrapping):
    """Stands inside of CallInterceptor, which makes statuses of what it raises."""

    def __init__(self, package: str, modes: ModeWatch) -> None:
        super().__init__()
        self._prefix = f"/{package}."
        self._modes = modes

    def _wraps(self, method: str) -> bool:
        return method.startswith(self._prefix) and method.rpartition("/")[2] in REFUSED

    def _unary(self, behaviour: Any, method: str) -> Any:
        async def answer(request: Any, context: Context) -> Any:
            self._modes.require_writable()
            return await behaviour(request, context)

        return answer

    def _streaming(self, behaviour: Any, method: str) -> Any:
        async def answer(request: Any, context: Context) -> AsyncIterator[Any]:
            self._modes.require_writable()
            async with aclosing(behaviour(request, context)) as responses:
                async for response in responses:
                    yield response

        return answer
