"""Whether a process, or a service of several, lives and is ready: for Kubernetes and load balancers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from kgsvc.observability.endpoint import ALIVE, READY, shown

_BEAT_S = 1.0
_STALLED_S = 60.0  # much longer than any step on the event loop, so that no busy process is ended


class Probes:
    """Of one process. Alive while its event loop turns, whatever happens to the store: a restart would mend
    nothing there. Ready from its start until it drains, while the store answers."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._beat = monotonic()
        self.serving = False  # False before the start is over and while it drains
        self.store_answers = False

    async def run(self) -> None:
        """Note that the event loop turns, until cancelled."""
        while True:
            self._beat = self._monotonic()
            await asyncio.sleep(_BEAT_S)

    def not_alive(self) -> str:
        """See endpoint.Asked."""
        still_s = self._monotonic() - self._beat
        return f"the event loop has stood still for {still_s:.0f} s" if still_s > _STALLED_S else ""

    def not_ready(self) -> str:
        """See endpoint.Asked."""
        if not self.serving:
            return "starting or draining"
        return "" if self.store_answers else "the store does not answer"

    def drain(self) -> None:
        """Not ready from now on."""
        self.serving = False


class ProcessProbes:
    """Of a service of several processes, by asking each. Alive while every process that runs is; one that
    died is started again by its parent. Ready while one process of each role is."""

    def __init__(self, parent: Probes, names: Sequence[str], addresses: Mapping[str, str]) -> None:
        self._parent = parent
        self._names = names  # a role and a number each
        self._addresses = addresses  # HOST:PORT of the endpoint of each process that runs, by name

    def not_alive(self) -> str:
        """See endpoint.Asked."""
        if trouble := self._parent.not_alive():
            return trouble
        for name in list(self._addresses):  # a copy: processes come and go meanwhile
            if trouble := self._trouble(name, ALIVE):
                return f"{name}: {trouble}"
        return ""

    def not_ready(self) -> str:
        """See endpoint.Asked."""
        by_role: dict[str, list[str]] = {}
        for name in self._names:
            by_role.setdefault(name.rpartition("-")[0], []).append(name)
        for members in by_role.values():
            troubles = {name: self._trouble(name, READY) for name in members}
            if all(troubles.values()):
                return "; ".join(f"{name}: {trouble}" for name, trouble in troubles.items())
        return ""

    def _trouble(self, name: str, path: str) -> str:
        address = self._addresses.get(name)
        if address is None:
            return "is being started"
        status, said = shown(address, path)
        if status == 200:
            return ""
        return said.strip() or "does not answer"
