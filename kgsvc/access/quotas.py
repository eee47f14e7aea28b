"""How much a token and a group may use: the settings, and how fast a token may call."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Annotated

from kgsvc.access.scopes import ANYBODY, Principal
from kgsvc.domain.errors import QuotaExceeded
from kgsvc.domain.limits import FROM_ZERO, Allowance, Counted

_TOKENS = 10_000  # whose calls are counted at a time; then the one that was quiet longest is forgotten


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """How much may be used; 0: no limit. A token is whatever proves a caller: a token of the access file, a
    subject of a JWT, a certificate. Without credentials only groups have quotas. Days are those of UTC."""

    token_calls_a_second: Annotated[float, FROM_ZERO] = 0.0  # in each process; of a second at once
    token_items_a_day: Annotated[int, FROM_ZERO] = 0
    token_model_tokens_a_day: Annotated[int, FROM_ZERO] = 0
    token_bytes: Annotated[int, FROM_ZERO] = 0  # of bodies kept, of what is accepted under this limit
    group_items_a_day: Annotated[int, FROM_ZERO] = 0
    group_model_tokens_a_day: Annotated[int, FROM_ZERO] = 0
    group_bytes: Annotated[int, FROM_ZERO] = 0
    # Model tokens set aside for an item, and one for every two characters, until its real cost is known.
    reserved_tokens: Annotated[int, FROM_ZERO] = 4_000

    def tokens_for(self, body: str) -> int:
        """Model tokens that are set aside for an item."""
        return self.reserved_tokens + len(body) // 2


_OF = {"items_a_day": Counted.ITEMS, "model_tokens_a_day": Counted.MODEL_TOKENS, "bytes": Counted.BYTES}


def allowances(settings: QuotaSettings, principal: Principal, group_id: str) -> tuple[Allowance, ...]:
    """What a caller may bring into a group."""
    subjects = {"group": f"group {group_id}"}
    if principal is not ANYBODY:
        subjects["token"] = f"token {_key(principal)}"
    return tuple(
        Allowance(subject, counted, limit, f"quotas.{kind}_{name}")
        for kind, subject in subjects.items()
        for name, counted in _OF.items()
        if (limit := getattr(settings, f"{kind}_{name}"))
    )


def _key(principal: Principal) -> str:
    return principal.credential or principal.name


class Rates:
    """Counts the calls of each token, in a bounded memory. Times are seconds of a monotonic clock."""

    def __init__(self, a_second: float = 0.0) -> None:
        self._a_second = a_second
        self._free_at: OrderedDict[str, float] = OrderedDict()  # when all calls so far are paid off

    def called(self, principal: Principal, now: float) -> None:
        """One more call. QuotaExceeded: it comes too early; it does not count then."""
        if not self._a_second:
            return
        key, each = _key(principal), 1 / self._a_second
        free_at = max(now, self._free_at.pop(key, now)) + each
        wait = free_at - now - max(1.0, each)
        self._free_at[key] = free_at if wait <= 0 else free_at - each
        while len(self._free_at) > _TOKENS:
            self._free_at.popitem(last=False)
        if wait > 0:
            raise QuotaExceeded("quotas.token_calls_a_second", max(1, round(wait * 1_000)))
