"""Keys that sign tokens and verify them, private, public and as published (JWK), by PyJWT and cryptography."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import load_pem_x509_certificate
from jwt.algorithms import Algorithm, ECAlgorithm, RSAAlgorithm, get_default_algorithms
from jwt.exceptions import PyJWTError
from jwt.utils import base64url_encode

from simkit.engine.egress.policy import parse_answer
from simkit.meta.certificate_errors import unreadable
from simkit.meta.errors import SimkitError

# Reference: RFC 7518 (JSON Web Algorithms). Which keys sign which algorithm:
# k8s.io/kubernetes/pkg/serviceaccount/jwt.go, release 1.30.

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
"""Names of the accepted algorithms. Shared secrets and ``none`` are not among them."""
SIGNATURES: Final[Mapping[str, Algorithm]] = {name: get_default_algorithms()[name] for name in ALGORITHMS}
"""PyJWT's implementation of each accepted algorithm."""
CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
"""The algorithm of each curve that signs tokens, by the curve's name."""
_LISTED: Final[Sequence[str]] = ("kty", "n", "e", "crv", "x", "y")


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key with the one algorithm that it may verify, and its identifier."""

    key: PublicKey
    algorithm: str
    identifier: str

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """True if the signature over the bytes was made by this key."""
        return SIGNATURES[self.algorithm].verify(signed, self.key, signature)

    def jwk(self) -> dict[str, str]:
        """The key as a JSON web key, as the key set endpoint lists it."""
        written: Mapping[str, Any] = SIGNATURES[self.algorithm].to_jwk(self.key, as_dict=True)
        numbers = {name: str(written[name]) for name in _LISTED if name in written}
        return {"use": "sig", "kid": self.identifier, "alg": self.algorithm, **numbers}


def new_key() -> PrivateKey:
    """A new private key: ECDSA on the curve P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def public_half(key: PrivateKey) -> PublicKey:
    """The public key of a private one."""
    return key.public_key()


def signature(key: PrivateKey, algorithm: str, signed: bytes) -> bytes:
    """The signature of some bytes, before base64 encoding."""
    return SIGNATURES[algorithm].sign(signed, key)


def verification_key(key: PublicKey) -> VerificationKey:
    """The public key with its algorithm and identifier. Raises SimkitError for an unsupported curve."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    identifier = base64url_encode(hashlib.sha256(der).digest()).decode()
    if isinstance(key, rsa.RSAPublicKey):
        return VerificationKey(key, "RS256", identifier)
    if key.curve.name not in CURVES:
        raise SimkitError(f"keys of the curve {key.curve.name} sign no tokens; use P-256, P-384 or P-521")
    return VerificationKey(key, CURVES[key.curve.name], identifier)


def load_private_key(pem: bytes, source: str = "the key file") -> PrivateKey:
    """The RSA or elliptic-curve private key of a PEM text. Raises SimkitError naming the source."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SimkitError(f"{source} holds no private key in PEM form: {error}") from error
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise SimkitError(f"{source} holds a key that signs no service account tokens; use RSA or ECDSA")
    return key


def load_verification_keys(pem: bytes, source: str = "the key file") -> list[VerificationKey]:
    """Every key of a PEM text, of private ones the public half, of certificates the certified key.

    Raises SimkitError naming the source.

    Upstream: k8s.io/client-go/util/keyutil (``ParsePublicKeysPEM``), release 1.30.
    """
    blocks = [b"-----BEGIN " + block for block in pem.split(b"-----BEGIN ")[1:]]
    keys = [key for block in blocks if (key := _public_key_of(block, source)) is not None]
    if not keys:
        raise SimkitError(f"{source} holds no RSA or ECDSA key in PEM form")
    return [verification_key(key) for key in keys]


def _public_key_of(block: bytes, source: str) -> PublicKey | None:
    """The public key of one PEM block; None for a block without a key (some files begin with curve parameters)."""
    label = block.partition(b"\n")[0]
    if b"PRIVATE KEY" in label:
        return public_half(load_private_key(block, source))
    if b"PUBLIC KEY" not in label and b"CERTIFICATE" not in label:
        return None
    try:
        certified = b"CERTIFICATE" in label
        key = load_pem_x509_certificate(block).public_key() if certified else serialization.load_pem_public_key(block)
    except unreadable() as error:
        raise SimkitError(f"{source} holds a public key that cannot be read: {error}") from error
    if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey):
        raise SimkitError(f"{source} holds a key that verifies no service account tokens; use RSA or ECDSA")
    return key


# Public keys as identity providers publish them (JWK sets), read by PyJWT.
# References: RFC 7517 (JSON Web Key); what a provider's keys may verify: github.com/coreos/go-oidc, as kube-apiserver
# 1.30 uses it.

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
