"""Public keys as identity providers publish them, and signatures by every algorithm that tokens may use."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
"""What a token may be signed with. A shared secret, or nothing, is none of them."""
_DIGESTS: Final[Mapping[str, Callable[[], hashes.HashAlgorithm]]] = {
    "256": hashes.SHA256,
    "384": hashes.SHA384,
    "512": hashes.SHA512,
}
_CURVES: Final[Mapping[str, tuple[type[ec.EllipticCurve], str]]] = {
    "P-256": (ec.SECP256R1, "ES256"),
    "P-384": (ec.SECP384R1, "ES384"),
    "P-521": (ec.SECP521R1, "ES512"),
}
_SMALLEST: Final = 1024
"""Bits that an RSA key must have."""


class BadKeySet(ValueError):
    """A document that is no set of keys."""


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """One key of a provider; ``algorithm`` is empty where the provider does not bind it to one."""

    key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey
    identifier: str = ""
    algorithm: str = ""

    def fits(self, algorithm: str, identifier: str) -> bool:
        """Whether a token with this header may have been signed by the key."""
        if identifier and self.identifier and identifier != self.identifier:
            return False
        if self.algorithm not in ("", algorithm):
            return False
        if isinstance(self.key, rsa.RSAPublicKey):
            return algorithm[:2] in ("RS", "PS")
        return any(isinstance(self.key.curve, curve) and algorithm == name for curve, name in _CURVES.values())

    def verifies(self, algorithm: str, signature: bytes, signed: bytes) -> bool:
        """Whether the signature over the bytes was made by this key with an algorithm that fits it."""
        digest = _DIGESTS[algorithm[2:]]()
        try:
            if isinstance(self.key, ec.EllipticCurvePublicKey):
                return self._verifies_curve(signature, signed, digest)
            scheme: padding.AsymmetricPadding = padding.PKCS1v15()
            if algorithm.startswith("PS"):
                scheme = padding.PSS(mgf=padding.MGF1(digest), salt_length=digest.digest_size)
            self.key.verify(signature, signed, scheme, digest)
        except InvalidSignature:
            return False
        return True

    def _verifies_curve(self, signature: bytes, signed: bytes, digest: hashes.HashAlgorithm) -> bool:
        assert isinstance(self.key, ec.EllipticCurvePublicKey)
        size = (self.key.curve.key_size + 7) // 8
        if len(signature) != 2 * size:
            return False
        halves = (int.from_bytes(half, "big") for half in (signature[:size], signature[size:]))
        self.key.verify(encode_dss_signature(*halves), signed, ec.ECDSA(digest))
        return True


def read_key_set(document: bytes) -> list[PublishedKey]:
    """The keys of a JSON web key set that can verify signatures; others are passed over. Raises BadKeySet."""
    try:
        entries = orjson.loads(document)["keys"]
    except (orjson.JSONDecodeError, TypeError, KeyError) as error:
        raise BadKeySet(f"the document is no set of keys: {error}") from error
    if not isinstance(entries, list):
        raise BadKeySet("the document is no set of keys")
    found = (_read(entry) for entry in entries if isinstance(entry, dict) and entry.get("use") in (None, "sig"))
    return [key for key in found if key is not None]


def _read(entry: Mapping[str, Any]) -> PublishedKey | None:
    """One key; None for a kind that signs no tokens, or numbers that make no key."""
    try:
        key = _key(entry)
    except (KeyError, ValueError, TypeError, binascii.Error):
        return None
    if key is None:
        return None
    return PublishedKey(key, str(entry.get("kid") or ""), str(entry.get("alg") or ""))


def _key(entry: Mapping[str, Any]) -> rsa.RSAPublicKey | ec.EllipticCurvePublicKey | None:
    if entry.get("kty") == "RSA":
        key = rsa.RSAPublicNumbers(_number(entry["e"]), _number(entry["n"])).public_key()
        return key if key.key_size >= _SMALLEST else None
    if entry.get("kty") == "EC" and entry.get("crv") in _CURVES:
        curve, _ = _CURVES[entry["crv"]]
        return ec.EllipticCurvePublicNumbers(_number(entry["x"]), _number(entry["y"]), curve()).public_key()
    return None


def _number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), "big")
