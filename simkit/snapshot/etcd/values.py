"""The values in etcd: objects in the version and the form in which kube-apiserver stores them.

Built-in kinds are protobuf in an envelope; custom resources, their definitions and registrations of API services are
JSON. A stored object carries no resourceVersion: that is the revision of its key.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from simkit.kinds.conversions import ConversionError, convert
from simkit.kinds.strategy import strategy_of
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError, StatusError, unexplained
from simkit.meta.names import GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Object, copied, group_version_of, metadata
from simkit.meta.unreadable import UnreadableObject
from simkit.schema.binary import decode, encode, has_binary_form
from simkit.schema.binary.codec import Unfit
from simkit.schema.catalogue import Catalogue
from simkit.schema.decode_pass import DecodeError
from simkit.schema.decoding import normalise
from simkit.schema.resources import Resource
from simkit.schema.storageversion import stored_as
from simkit.snapshot.etcd.encryption import Encryption

_MAGIC: Final = b"k8s\x00"
_JSON_GROUPS: Final = frozenset({api_group("apiextensions"), api_group("apiregistration")})
"""Groups whose servers store JSON also for kinds that have a binary form."""


class Values:
    """Writes and reads the values of one release, encrypted where a configuration says so.

    Parameters
    ----------
    catalogue
        All kinds that the release knows.
    encryption
        The providers by resource; None: nothing is encrypted, and encrypted values cannot be read.
    """

    def __init__(self, catalogue: Catalogue, encryption: Encryption | None = None) -> None:
        self._catalogue, self._encryption = catalogue, encryption
        self._resources: dict[GroupResource, Resource] = {each.storage: each for each in catalogue.stored()}

    def encode(self, key: Key, path: bytes, obj: Object) -> bytes:
        """The value of an object, as a server of the release would write it."""
        written = {**obj, "metadata": {k: v for k, v in metadata(obj).items() if k != "resourceVersion"}}
        resource = self._resources.get(key.resource)
        raw = _as_json(written) if resource is None else self._built_in(resource, written)
        return self.encrypt(key.resource, path, raw)

    def encrypt(self, resource: GroupResource, path: bytes, raw: bytes) -> bytes:
        """A value as it stands in etcd: encrypted if the configuration says so."""
        return raw if self._encryption is None else self._encryption.encrypt(resource, path, raw)

    def _built_in(self, resource: Resource, obj: Object) -> bytes:
        kept, wanted = resource.storage_gvk, stored_as(self._catalogue.release, resource)
        named = {**obj, "apiVersion": kept.api_version, "kind": kept.kind}
        stored = named if wanted == kept else convert(named, wanted.api_version, self._catalogue.behaviour)
        if kept.group in _JSON_GROUPS or not has_binary_form(wanted):
            return _as_json(stored)
        return encode(stored)

    def decode(self, key: Key, path: bytes, raw: bytes, revision: int) -> Object:
        """The object of a value, in the version that is kept here. Raises a 500 StatusError for what is none."""
        try:
            plain = self.decrypt(key.resource, path, raw)
        except StatusError as error:
            raise UnreadableObject(key, error.message) from error
        try:
            obj = self._kept(key, decode(plain) if plain.startswith(_MAGIC) else orjson.loads(plain))
        except (Unfit, orjson.JSONDecodeError, DecodeError, ConversionError, SimkitError) as error:
            raise UnreadableObject(key, str(error)) from error
        return {**obj, "metadata": {**metadata(obj), "resourceVersion": str(revision)}}

    def decrypt(self, resource: GroupResource, path: bytes, raw: bytes) -> bytes:
        """The plain form of a value in etcd. Raises a 500 StatusError for one that cannot be decrypted."""
        if not raw.startswith(b"k8s:enc:"):
            return raw
        if self._encryption is None:
            provider = raw.split(b":", 3)[2].decode("ascii", "replace")
            raise unexplained(
                f"it is encrypted ({provider}); give the server's --encryption-provider-config to read it"
            )
        return self._encryption.decrypt(resource, path, raw)

    def _kept(self, key: Key, obj: Any) -> Object:
        """A decoded value in the version that is kept here, without the zeros that a binary form always has.

        As kube-apiserver does at each read, it sets the defaults that the writer did not know.
        """
        if not isinstance(obj, dict):
            raise Unfit("it is no object")
        resource = self._resources.get(key.resource)
        if resource is None:
            return obj
        found = GroupVersionKind(*group_version_of(obj), str(obj.get("kind", "")))
        behaviour, wanted = self._catalogue.behaviour, resource.storage_gvk
        plain = normalise(behaviour, obj, self._catalogue.schema(found))
        kept = plain if found == wanted else copied(convert(plain, wanted.api_version, behaviour))
        strategy_of(wanted.group_kind).default(behaviour, kept)
        return kept


def _as_json(obj: Object) -> bytes:
    return orjson.dumps(obj) + b"\n"
