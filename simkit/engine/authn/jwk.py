"""Public keys as identity providers publish them (JWK sets), read by PyJWT.

References
----------
RFC 7517 (JSON Web Key); what a provider's keys may verify: github.com/coreos/go-oidc, as kube-apiserver 1.30 uses it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

from simkit.engine.authn.jws import CURVES, SIGNATURES, PublicKey
from simkit.engine.egress.answer_json import parse_answer

_SMALLEST: Final = 1024
"""The least bits of an RSA key."""


class BadKeySet(ValueError):
    """A document that is no set of keys."""


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """One key of a provider; ``algorithm`` is empty if the provider does not restrict it."""

    key: PublicKey
    identifier: str = ""
    algorithm: str = ""

    def fits(self, algorithm: str, identifier: str) -> bool:
        """True if a token with this header may have been signed by the key."""
        if identifier and self.identifier and identifier != self.identifier:
            return False
        if self.algorithm not in ("", algorithm):
            return False
        if isinstance(self.key, rsa.RSAPublicKey):
            return algorithm[:2] in ("RS", "PS")
        return CURVES.get(self.key.curve.name) == algorithm

    def verifies(self, algorithm: str, signature: bytes, signed: bytes) -> bool:
        """True if the signature over the bytes was made by this key with an algorithm that fits it."""
        return SIGNATURES[algorithm].verify(signed, self.key, signature)


def read_key_set(document: bytes) -> list[PublishedKey]:
    """The keys of a JSON web key set that can verify signatures; others are skipped. Raises BadKeySet."""
    try:
        entries = parse_answer(document)["keys"]
    except (json.JSONDecodeError, TypeError, KeyError) as error:
        raise BadKeySet(f"the document is no set of keys: {error}") from error
    if not isinstance(entries, list):
        raise BadKeySet("the document is no set of keys")
    found = (_read(entry) for entry in entries if isinstance(entry, dict) and entry.get("use") in (None, "sig"))
    return [key for key in found if key is not None]


def _read(entry: Mapping[str, Any]) -> PublishedKey | None:
    """One key; None for a kind that signs no tokens, or for invalid numbers."""
    try:
        key = _key(entry)
    except (KeyError, ValueError, TypeError, PyJWTError):
        return None
    if key is None:
        return None
    return PublishedKey(key, str(entry.get("kid") or ""), str(entry.get("alg") or ""))


def _key(entry: Mapping[str, Any]) -> PublicKey | None:
    """The public numbers of an entry as a key; a private half in the document is not read."""
    if entry.get("kty") == "RSA":
        numbers = {name: entry[name] for name in ("kty", "n", "e")}
        key = RSAAlgorithm.from_jwk(numbers)
        return key if isinstance(key, rsa.RSAPublicKey) and key.key_size >= _SMALLEST else None
    if entry.get("kty") == "EC":
        point = ECAlgorithm.from_jwk({name: entry[name] for name in ("kty", "crv", "x", "y")})
        return point if isinstance(point, ec.EllipticCurvePublicKey) and point.curve.name in CURVES else None
    return None
