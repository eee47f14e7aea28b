"""What a service reports once it has started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from kgsvc.stores.protocol import StoreInfo


@dataclass(frozen=True, slots=True)
class Running:
    """A running service: where it listens (None: it does not) and what it runs on."""

    address: str | None
    metrics_address: str | None
    store: StoreInfo
    extractor: str
    embedder: str | None

    def to_json(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, line: str | bytes) -> Running:
        """The value that `to_json` wrote."""
        fields = json.loads(line)
        return cls(**{**fields, "store": StoreInfo(**fields["store"])})
