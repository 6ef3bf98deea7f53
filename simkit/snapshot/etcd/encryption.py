"""Encryption of stored values by kube-apiserver's EncryptionConfiguration: aescbc, aesgcm, secretbox, identity.

A value says by its prefix which provider and which key wrote it; the first provider of a resource writes.

References
----------
k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go and pkg/storage/value/encrypt, release 1.30.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import nacl.exceptions
import nacl.secret
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simkit.language.yaml.small_files import value_of_file
from simkit.meta.errors import SimkitError, unexplained
from simkit.meta.names import GroupResource

_BLOCK: Final = 16
_NONCE: Final = 12
_MARK: Final = b"k8s:enc:"


class Cipherer(Protocol):
    """One key of one provider."""

    def seal(self, plain: bytes, path: bytes) -> bytes: ...

    def open(self, sealed: bytes, path: bytes) -> bytes:
        """The text again. Raises ValueError where the key or the place is another."""
        ...


class _AesCbc:
    """AES in CBC mode with a random first block."""

    def __init__(self, key: bytes) -> None:
        self._algorithm = algorithms.AES(key)

    def seal(self, plain: bytes, path: bytes) -> bytes:
        first, padder = os.urandom(_BLOCK), padding.PKCS7(_BLOCK * 8).padder()
        encryptor = Cipher(self._algorithm, modes.CBC(first)).encryptor()
        return first + encryptor.update(padder.update(plain) + padder.finalize()) + encryptor.finalize()

    def open(self, sealed: bytes, path: bytes) -> bytes:
        decryptor = Cipher(self._algorithm, modes.CBC(sealed[:_BLOCK])).decryptor()
        unpadder = padding.PKCS7(_BLOCK * 8).unpadder()
        padded = decryptor.update(sealed[_BLOCK:]) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()


class _AesGcm:
    """AES in GCM mode; the place of the value is part of what is authenticated."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, plain: bytes, path: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, plain, path)

    def open(self, sealed: bytes, path: bytes) -> bytes:
        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], path)
        except InvalidTag:
            raise ValueError("the value was written with another key, or for another place") from None


class _SecretBox:
    """XSalsa20 with Poly1305."""

    def __init__(self, key: bytes) -> None:
        self._box = nacl.secret.SecretBox(key)

    def seal(self, plain: bytes, path: bytes) -> bytes:
        return bytes(self._box.encrypt(plain))

    def open(self, sealed: bytes, path: bytes) -> bytes:
        try:
            return bytes(self._box.decrypt(sealed))
        except nacl.exceptions.CryptoError:
            raise ValueError("the value was written with another key") from None


_CIPHERS: Final[Mapping[str, tuple[str, type[_AesCbc] | type[_AesGcm] | type[_SecretBox], tuple[int, ...]]]] = {
    "aescbc": ("aescbc:v1", _AesCbc, (16, 24, 32)),
    "aesgcm": ("aesgcm:v1", _AesGcm, (16, 24, 32)),
    "secretbox": ("secretbox:v1", _SecretBox, (32,)),
}
"""The mark, the class and the lengths of keys of each provider."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """One way to write values: what they begin with, and the key; None: they are written plainly."""

    prefix: bytes
    cipher: Cipherer | None


class Encryption:
    """Providers by resource, in the order of a configuration; the first of a resource writes, all of them read."""

    def __init__(self, rules: Sequence[tuple[frozenset[str], Sequence[_Provider]]]) -> None:
        self._rules = rules

    def encrypt(self, resource: GroupResource, path: bytes, plain: bytes) -> bytes:
        """A value as the first provider of its resource writes it."""
        providers = self._providers(resource)
        if not providers or providers[0].cipher is None:
            return plain
        return providers[0].prefix + providers[0].cipher.seal(plain, path)

    def decrypt(self, resource: GroupResource, path: bytes, raw: bytes) -> bytes:
        """A value in plain. Raises a 500 StatusError where no provider of its resource reads it."""
        for provider in self._providers(resource):
            if provider.cipher is not None and raw.startswith(provider.prefix):
                try:
                    return provider.cipher.open(raw[len(provider.prefix) :], path)
                except ValueError as error:
                    raise unexplained(f"cannot decrypt {path.decode(errors='replace')}: {error}") from error
        raise unexplained(f"no matching prefix found: no provider reads {path.decode(errors='replace')}")

    def _providers(self, resource: GroupResource) -> Sequence[_Provider]:
        names = {str(resource), "*.*", f"*.{resource.group}"}
        return next((providers for resources, providers in self._rules if names & resources), ())


class _Key(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1)
    secret: str


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid")
    keys: list[_Key] = Field(min_length=1)


class _Providers(BaseModel):
    model_config = ConfigDict(extra="forbid")
    aescbc: _Keys | None = None
    aesgcm: _Keys | None = None
    secretbox: _Keys | None = None
    identity: dict[str, Any] | None = None
    kms: dict[str, Any] | None = None


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid")
    resources: list[str] = Field(min_length=1)
    providers: list[_Providers] = Field(min_length=1)


class _Configuration(BaseModel):
    model_config = ConfigDict(extra="forbid")
    apiVersion: str  # noqa: N815 - the name in the file
    kind: str
    resources: list[_Rule] = Field(min_length=1)


def read_encryption(path: str | Path) -> Encryption:
    """The providers of an EncryptionConfiguration file.

    Raises
    ------
    SimkitError
        For a file that cannot be read, is no such configuration, or asks for a key service (kms).
    """
    try:
        configuration = _Configuration.model_validate(value_of_file(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SimkitError(f"{path} is no EncryptionConfiguration: {place}: {first['msg']}") from error
    if configuration.kind != "EncryptionConfiguration":
        raise SimkitError(f"{path} is no EncryptionConfiguration, but of kind {configuration.kind!r}")
    return Encryption([(frozenset(map(_named, rule.resources)), _read(path, rule)) for rule in configuration.resources])


def _named(resource: str) -> str:
    """A resource as it is compared; the core group may be written with a dot at the end."""
    return resource.removesuffix(".") if resource.endswith(".") and resource != "*." else resource


def _read(path: str | Path, rule: _Rule) -> list[_Provider]:
    return [provider for listed in rule.providers for provider in _listed(path, listed)]


def _listed(path: str | Path, listed: _Providers) -> Iterable[_Provider]:
    if listed.kms is not None:
        raise SimkitError(f"{path} names a key service (kms); only aescbc, aesgcm, secretbox and identity are read")
    if listed.identity is not None:
        yield _Provider(b"", None)
    for name, keys in (("aescbc", listed.aescbc), ("aesgcm", listed.aesgcm), ("secretbox", listed.secretbox)):
        for key in keys.keys if keys else ():
            mark, cipher, lengths = _CIPHERS[name]
            secret = _secret(path, key, lengths)
            yield _Provider(_MARK + f"{mark}:{key.name}:".encode(), cipher(secret))


def _secret(path: str | Path, key: _Key, lengths: tuple[int, ...]) -> bytes:
    try:
        secret = base64.b64decode(key.secret, validate=True)
    except ValueError:  # also for letters outside of ASCII
        raise SimkitError(f"{path}: the secret of key {key.name!r} is not base64") from None
    if len(secret) not in lengths:
        raise SimkitError(f"{path}: the secret of key {key.name!r} has {len(secret)} bytes; it may have {lengths}")
    return secret
