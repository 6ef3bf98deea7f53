"""A provider of identities on loopback, and who its tokens are taken for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from simkit.engine.authn.oidc import OIDCOptions
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from tests.engine.egress.service import Service, serving

RSA_KEY = rsa.generate_private_key(65537, 2048)
CURVE_KEY = ec.generate_private_key(ec.SECP256R1())


def published(key: Any, identifier: str, **more: Any) -> dict[str, Any]:
    maker = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    entry: dict[str, Any] = maker.to_jwk(key.public_key(), as_dict=True)
    return {**entry, "kid": identifier, "use": "sig", **more}


class Issuer:
    """A small identity provider over HTTPS."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.keys = [published(RSA_KEY, "r1"), published(CURVE_KEY, "e1")]
        self.service: Service
        self.changes: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return self.service.url

    @property
    def authority(self) -> bytes:
        return self.service.authority.certificate_pem()

    def reply(self, path: str, body: Any) -> tuple[int, Any]:
        if path == "/keys":
            return 200, {"keys": self.keys}
        return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.changes}

    def token(self, key: Any = RSA_KEY, *, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        now = int(self.clock.now())
        given = {"iss": self.url, "aud": "simkit", "sub": "ann", "exp": now + 600, "iat": now, **claims}
        algorithm = (header or {}).get("alg") or ("RS256" if key is RSA_KEY else "ES256")
        named = {"kid": "r1" if key is RSA_KEY else "e1", **(header or {})}
        return jwt.encode({k: v for k, v in given.items() if v is not None}, key, algorithm, headers=named)

    def flags(self, **more: Any) -> OIDCOptions:
        settings = {"issuer_url": self.url, "client_id": "simkit", "authority": self.authority, **more}
        return OIDCOptions(**settings)

    def asked(self, path: str) -> int:
        return sum(where == path for where, _, _ in self.service.requests)


@contextmanager
def issuing(folder: Path) -> Iterator[Issuer]:
    """A provider that is served, with its certificate in a folder."""
    made = Issuer()
    with serving(folder, made.reply) as service:
        made.service = service
        yield made


def who(authenticator: Any, token: str) -> Identity | int | None:
    try:
        found: Identity | None = authenticator.authenticate(Credentials(token))
    except StatusError as error:
        return error.code
    return found
