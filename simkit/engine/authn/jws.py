"""Signed tokens (JWS), by PyJWT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from jwt import PyJWS
from jwt.exceptions import PyJWTError
from jwt.utils import base64url_encode

from simkit.engine.authn.bearer import looks_signed
from simkit.engine.authn.signing_keys import PrivateKey, VerificationKey, public_half, signature, verification_key
from simkit.meta.go_json import nested

# Compact signed tokens, signed and verified with RSA and elliptic-curve keys.
# Reference: RFC 7515 (JSON Web Signature).

_JWS: Final = PyJWS()


class Malformed(Exception):
    """A text that is no compact signed token."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed compact token, not verified."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signature: bytes
    signed: bytes

    def verified_by(self, keys: Sequence[VerificationKey]) -> bool:
        """True if one of the keys made the signature, with the algorithm that this key is for."""
        identifier, algorithm = self.header.get("kid"), self.header.get("alg")
        fitting = [key for key in keys if key.algorithm == algorithm]
        named = [key for key in fitting if key.identifier == identifier]
        return any(key.verifies(self.signature, self.signed) for key in named or fitting)


class Signer:
    """Signs claims with a private key: RS256, or the algorithm of the key's curve."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self.public = verification_key(public_half(key))
        header = {"alg": self.public.algorithm, "kid": self.public.identifier}
        self._header = base64url_encode(orjson.dumps(header))

    def sign(self, claims: Mapping[str, Any]) -> str:
        """The compact token with the claims."""
        signed = b".".join((self._header, base64url_encode(orjson.dumps(claims))))
        return b".".join((signed, base64url_encode(self.signature(signed)))).decode()

    def signature(self, signed: bytes) -> bytes:
        """The signature of some bytes, before base64 encoding."""
        return signature(self._key, self.public.algorithm, signed)


def parse(token: str) -> Parsed:
    """A parsed compact token, not verified. Raises Malformed, also for foreign characters."""
    if not looks_signed(token):
        raise Malformed("a signed token has three parts of letters, digits, '-' and '_'")
    try:
        found = _JWS.decode_complete(token, options={"verify_signature": False})
        claims = orjson.loads(found["payload"])
    except (PyJWTError, ValueError) as error:
        raise Malformed(str(error)) from error
    if not isinstance(claims, dict):
        raise Malformed("header and claims are objects")
    try:
        orjson.dumps(nested(claims))
    except orjson.JSONEncodeError as error:
        raise Malformed("the claims nest too deeply") from error
    return Parsed(found["header"], claims, found["signature"], token.rpartition(".")[0].encode())
