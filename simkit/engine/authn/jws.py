"""Signed tokens in the compact form, with RSA and elliptic-curve keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from simkit.meta.errors import SimkitError

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
_CURVES: Final[Mapping[str, tuple[str, type[hashes.HashAlgorithm]]]] = {
    "secp256r1": ("ES256", hashes.SHA256),
    "secp384r1": ("ES384", hashes.SHA384),
    "secp521r1": ("ES512", hashes.SHA512),
}
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")
_CURVE_NAMES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


class Malformed(Exception):
    """A text that is no compact signed token."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key with the one algorithm that it may verify, and its identifier."""

    key: PublicKey
    algorithm: str
    identifier: str

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Whether the signature over the bytes was made by this key."""
        try:
            if isinstance(self.key, rsa.RSAPublicKey):
                self.key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
            else:
                size = (self.key.curve.key_size + 7) // 8
                if len(signature) != 2 * size:
                    return False
                halves = (int.from_bytes(half, "big") for half in (signature[:size], signature[size:]))
                digest = _CURVES[self.key.curve.name][1]()
                self.key.verify(encode_dss_signature(*halves), signed, ec.ECDSA(digest))
        except InvalidSignature:
            return False
        return True

    def jwk(self) -> dict[str, str]:
        """The key as a JSON web key, as the key set endpoint lists it."""
        common = {"use": "sig", "kid": self.identifier, "alg": self.algorithm}
        if isinstance(self.key, rsa.RSAPublicKey):
            numbers = self.key.public_numbers()
            return {**common, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        point = self.key.public_numbers()
        size = (self.key.curve.key_size + 7) // 8
        curve = {"kty": "EC", "crv": _CURVE_NAMES[self.key.curve.name]}
        return {**common, **curve, "x": _number(point.x, size), "y": _number(point.y, size)}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A compact token taken apart, nothing of it verified."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signature: bytes
    signed: bytes

    def verified_by(self, keys: Sequence[VerificationKey]) -> bool:
        """Whether one of the keys made the signature, with the algorithm that this key is for."""
        identifier, algorithm = self.header.get("kid"), self.header.get("alg")
        fitting = [key for key in keys if key.algorithm == algorithm]
        named = [key for key in fitting if key.identifier == identifier]
        return any(key.verifies(self.signature, self.signed) for key in named or fitting)


class Signer:
    """Signs claims with a private key, RS256 or the algorithm of its curve."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self.public = verification_key(key.public_key())
        header = {"alg": self.public.algorithm, "kid": self.public.identifier}
        self._header = _encode(orjson.dumps(header))

    def sign(self, claims: Mapping[str, Any]) -> str:
        """The compact token that carries the claims."""
        signed = b".".join((self._header, _encode(orjson.dumps(claims))))
        return b".".join((signed, _encode(self._signature(signed)))).decode()

    def _signature(self, signed: bytes) -> bytes:
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
        digest = _CURVES[self._key.curve.name][1]()
        size = (self._key.curve.key_size + 7) // 8
        halves = decode_dss_signature(self._key.sign(signed, ec.ECDSA(digest)))
        return b"".join(half.to_bytes(size, "big") for half in halves)


def parse(token: str) -> Parsed:
    """A compact token taken apart. Raises Malformed."""
    parts = token.split(".")
    if len(parts) != 3:
        raise Malformed("a signed token has three parts")
    try:
        header, claims = (orjson.loads(_decode(part)) for part in parts[:2])
        signature = _decode(parts[2])
    except (binascii.Error, ValueError) as error:
        raise Malformed(str(error)) from error
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise Malformed("header and claims are objects")
    return Parsed(header, claims, signature, f"{parts[0]}.{parts[1]}".encode())


def verification_key(key: PublicKey) -> VerificationKey:
    """The public key with its algorithm and identifier. Raises SimkitError for a curve that signs no tokens."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    identifier = _encode(hashlib.sha256(der).digest()).decode()
    if isinstance(key, rsa.RSAPublicKey):
        return VerificationKey(key, "RS256", identifier)
    if key.curve.name not in _CURVES:
        raise SimkitError(f"keys of the curve {key.curve.name} sign no tokens; use P-256, P-384 or P-521")
    return VerificationKey(key, _CURVES[key.curve.name][0], identifier)


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
    """Every key of a PEM text, of private ones the public half. Raises SimkitError naming the source."""
    blocks = [b"-----BEGIN " + block for block in pem.split(b"-----BEGIN ")[1:]]
    keys = [key for block in blocks if (key := _public_half(block, source)) is not None]
    if not keys:
        raise SimkitError(f"{source} holds no RSA or ECDSA key in PEM form")
    return [verification_key(key) for key in keys]


def _public_half(block: bytes, source: str) -> PublicKey | None:
    """The public key of one PEM block, None for a block that is no key (curve parameters stand before some)."""
    label = block.partition(b"\n")[0]
    if b"PRIVATE KEY" in label:
        return load_private_key(block, source).public_key()
    if b"PUBLIC KEY" not in label:
        return None
    try:
        key = serialization.load_pem_public_key(block)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SimkitError(f"{source} holds a public key that cannot be read: {error}") from error
    if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey):
        raise SimkitError(f"{source} holds a key that verifies no service account tokens; use RSA or ECDSA")
    return key


def _encode(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def _decode(text: str) -> bytes:
    if not _BASE64URL.fullmatch(text):
        raise binascii.Error("only letters, digits, '-' and '_' make up a part of a token")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _number(value: int, size: int = 0) -> str:
    return _encode(value.to_bytes(size or (value.bit_length() + 7) // 8, "big")).decode()
