"""Keys that sign tokens, by ecdsa, which is Python alone: browsers have no cryptography.

Keys are generated. There are no files of keys in a browser, and no providers that publish some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NoReturn

from ecdsa import BadSignatureError, NIST256p, SigningKey, VerifyingKey
from jwt.utils import base64url_encode

from simkit.meta.errors import SimkitError

ALGORITHM: Final = "ES256"
ALGORITHMS: Final = (ALGORITHM,)
PrivateKey = SigningKey


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key with the one algorithm that it may verify, and its identifier."""

    key: VerifyingKey
    algorithm: str
    identifier: str

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """True if the signature over the bytes was made by this key."""
        try:
            return bool(self.key.verify(signature, signed, hashfunc=sha256))
        except BadSignatureError:
            return False

    def jwk(self) -> dict[str, str]:
        """The key as a JSON web key, as the key set endpoint lists it."""
        point = self.key.to_string()
        x, y = (base64url_encode(half).decode() for half in (point[:32], point[32:]))
        return {"use": "sig", "kid": self.identifier, "alg": ALGORITHM, "kty": "EC", "crv": "P-256", "x": x, "y": y}


def new_key() -> SigningKey:
    """A new private key: ECDSA on the curve P-256."""
    return SigningKey.generate(NIST256p)


def verification_key(key: VerifyingKey) -> VerificationKey:
    """The public key with its algorithm and identifier."""
    return VerificationKey(key, ALGORITHM, base64url_encode(sha256(key.to_der()).digest()).decode())


def public_half(key: SigningKey) -> VerifyingKey:
    """The public key of a private one."""
    return key.get_verifying_key()


def signature(key: SigningKey, algorithm: str, signed: bytes) -> bytes:
    """The signature of some bytes, before base64 encoding."""
    return bytes(key.sign(signed, hashfunc=sha256))


def load_private_key(pem: bytes, source: str = "the key file") -> NoReturn:
    """Refuse a file of a key."""
    raise SimkitError(f"{source} cannot be used: there are no files of keys in a browser")


def load_verification_keys(pem: bytes, source: str = "the key file") -> NoReturn:
    """Refuse a file of keys."""
    load_private_key(pem, source)


def read_key_set(document: bytes) -> NoReturn:
    """Refuse a published set of keys."""
    raise SimkitError("a browser's Python reads no published keys")


def fitting(keys: Sequence[Any], algorithm: str, identifier: str) -> tuple[()]:
    """No published key."""
    return ()
