"""Public keys as identity providers publish them (JWK sets), read by PyJWT.

References
----------
RFC 7517 (JSON Web Key); what a provider's keys may verify: github.com/coreos/go-oidc, as kube-apiserver 1.30 uses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

from simkit.engine.authn.jws import CURVES, SIGNATURES, PublicKey
from simkit.engine.egress.answer_json import parse_answer

MOST_KEYS: Final = 1000
"""Keys in a set that is read."""
MOST_TRIED: Final = 100
"""Keys with which one signature is checked."""
_SMALLEST: Final = 1024
"""The least bits of an RSA key."""
_LARGEST: Final = 16 * 1024
"""The most bits of an RSA key; OpenSSL verifies nothing with larger ones."""
_LARGEST_EXPONENT: Final = 2**31 - 1
"""As in Go's crypto/rsa: a signature costs as many multiplications as the exponent has bits."""
_LONGEST_NUMBER: Final = _LARGEST // 6 + 4
"""Characters of a number in base64."""


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


def fitting(keys: Sequence[PublishedKey], algorithm: str, identifier: str) -> Iterator[PublishedKey]:
    """The keys that may have signed a token with this header, at most a hundred."""
    return islice((key for key in keys if key.fits(algorithm, identifier)), MOST_TRIED)


def read_key_set(document: bytes) -> list[PublishedKey]:
    """The keys of a JSON web key set that can verify signatures; others are skipped.

    Raises BadKeySet, also for a set of more than a thousand keys.
    """
    try:
        entries = parse_answer(document)["keys"]
    except (json.JSONDecodeError, TypeError, KeyError) as error:
        raise BadKeySet(f"the document is no set of keys: {error}") from error
    if not isinstance(entries, list):
        raise BadKeySet("the document is no set of keys")
    if len(entries) > MOST_KEYS:
        raise BadKeySet(f"the document has more than {MOST_KEYS:,} keys")
    found = (_read(entry) for entry in entries if isinstance(entry, dict) and entry.get("use") in (None, "sig"))
    return [key for key in found if key is not None]


def _read(entry: Mapping[str, Any]) -> PublishedKey | None:
    """One key; None for a kind that signs no tokens, or for invalid numbers."""
    try:
        key = _key(entry)
        identifier, algorithm = _text(entry, "kid"), _text(entry, "alg")
    except (KeyError, ValueError, TypeError, PyJWTError):
        return None
    if key is None:
        return None
    return PublishedKey(key, identifier, algorithm)


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value or ""


def _numbers(entry: Mapping[str, Any], *names: str) -> dict[str, str]:
    """The parts of a key. Raises KeyError, TypeError, and ValueError for numbers of more digits than a key may have."""
    found = {name: _text(entry, name) for name in ("kty", *names)}
    if max(map(len, found.values())) > _LONGEST_NUMBER:
        raise ValueError("a number of the key is too large")
    return found


def _key(entry: Mapping[str, Any]) -> PublicKey | None:
    """The public numbers of an entry as a key; a private half in the document is not read."""
    if entry.get("kty") == "RSA":
        key = RSAAlgorithm.from_jwk(_numbers(entry, "n", "e"))
        return key if isinstance(key, rsa.RSAPublicKey) and _is_usable(key) else None
    if entry.get("kty") == "EC":
        point = ECAlgorithm.from_jwk(_numbers(entry, "crv", "x", "y"))
        return point if isinstance(point, ec.EllipticCurvePublicKey) and point.curve.name in CURVES else None
    return None


def _is_usable(key: rsa.RSAPublicKey) -> bool:
    return _SMALLEST <= key.key_size <= _LARGEST and key.public_numbers().e <= _LARGEST_EXPONENT
