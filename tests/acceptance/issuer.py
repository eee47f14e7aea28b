"""An issuer of JWTs, whose key set is a file."""

import json
import math
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

ISSUER, AUDIENCE = "https://issuer.test/", "kgsvc"


class Issuer:
    """Signs each token with a key of its own, so that each can be taken back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: dict[str, ec.EllipticCurvePrivateKey] = {}
        self._claims: dict[str, dict[str, Any]] = {}
        self.settings = {
            "access.jwt_keys": str(path),
            "access.jwt_issuer": ISSUER,
            "access.jwt_audience": AUDIENCE,
            "access.jwt_skew_s": "0",
        }

    def token(self, subject: str, scopes: dict[str, str], until_ms: int) -> str:
        """A JWT. Its key is in the set from now on."""
        until_s = math.ceil(until_ms / 1_000)
        self._claims[subject] = {
            "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": until_s, "kgsvc": scopes,
        }  # fmt: skip
        self._keys[subject] = ec.generate_private_key(ec.SECP256R1())
        self._write()
        return self._signed(subject, self._keys[subject])

    def forged(self, subject: str) -> str:
        """A JWT like the one of a subject, and named after its key, with the signature of another key."""
        return self._signed(subject, ec.generate_private_key(ec.SECP256R1()))

    def revoke(self, subject: str) -> None:
        """Take the key of a token out of the set."""
        del self._keys[subject]
        self._write()

    def _signed(self, subject: str, key: ec.EllipticCurvePrivateKey) -> str:
        return jwt.encode(self._claims[subject], key, "ES256", headers={"kid": f"key of {subject}"})

    def _write(self) -> None:
        """In one step, so that nobody reads half of it."""
        keys = [
            {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": f"key of {subject}"}
            for subject, key in self._keys.items()
        ]
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps({"keys": keys}))
        written.replace(self._path)
