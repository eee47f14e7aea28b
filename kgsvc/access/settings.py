"""The settings of this room."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from kgsvc.domain.limits import FROM_ZERO

STDOUT = Path("-")
Gate = Literal["open", "authenticated"]


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Who may call. Without a file and without a key set everybody may do everything. Times in seconds."""

    file: Path | None = None  # tokens and certificates with their scopes, written by `kgsvc token`
    jwt_keys: str | None = None  # key set (JWKS) of the issuer: a file, or an https URL
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    jwt_claim: str = "kgsvc"  # holds the scopes
    jwt_skew_s: Annotated[float, FROM_ZERO] = 30.0  # that two clocks may differ
    reload_s: float = 1.0  # between two looks at the file, and at the file of the key set
    health: Gate = "open"  # grpc.health.v1
    reflection: Gate = "authenticated"
    audit: Path | None = None  # JSON lines; - is standard output

    @property
    def on(self) -> bool:
        """Whether callers must prove who they are."""
        return self.file is not None or self.jwt_keys is not None

    def problems(self) -> list[str]:
        """What does not fit together."""
        wrong = []
        if self.jwt_keys is not None:
            wanted = {"jwt_issuer": self.jwt_issuer, "jwt_audience": self.jwt_audience}
            wrong += [f"access.jwt_keys needs access.{name}" for name, value in wanted.items() if not value]
            if not self.jwt_keys.startswith("https:") and not Path(self.jwt_keys).is_file():
                wrong.append(
                    f"access.jwt_keys must be an https URL or a file: there is none at {self.jwt_keys}"
                )
        elif self.jwt_issuer or self.jwt_audience:
            wrong.append("access.jwt_issuer and access.jwt_audience need access.jwt_keys")
        return wrong
