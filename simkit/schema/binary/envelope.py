"""Protobuf envelope of objects on the wire: magic bytes, kind, message.

Follows ``k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go``, release 1.30.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError as WireError

from simkit.meta.domain import API_DOMAIN
from simkit.meta.fielderror import quoted
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema.binary.codec import Unfit, fill, fill_message, read
from simkit.schema.binary.messages import fields, knows, message_class

PREFIX: Final = b"k8s\x00"
_MACHINERY: Final = f"{API_DOMAIN}.apimachinery.pkg"
_META: Final = f"{_MACHINERY}.apis.meta.v1"
_UNKNOWN: Final = f"{_MACHINERY}.runtime.Unknown"
_LENGTH_DELIMITED: Final = 2
"""The wire type of messages within messages."""


_PLACES: Final = {
    "apiextensions": "apiextensions_apiserver.pkg.apis.apiextensions",
    "apiregistration": "kube_aggregator.pkg.apis.apiregistration",
    "internal": "api.apiserverinternal",
    "meta": "apimachinery.pkg.apis.meta",
}
"""The package of a group's messages, if not under ``api`` by the first part of the group's name."""


def message_name(gvk: GroupVersionKind) -> str | None:
    """The full name of a kind's message; None for kinds without a protobuf form."""
    short = gvk.group.partition(".")[0] or "core"
    package = f"{API_DOMAIN}.{_PLACES.get(short, f'api.{short}')}.{gvk.version}"
    if knows(package, gvk.kind):
        return f"{package}.{gvk.kind}"
    return f"{_META}.{gvk.kind}" if knows(_META, gvk.kind) else None


def has_binary_form(gvk: GroupVersionKind) -> bool:
    """True if objects of a kind can be encoded as protobuf."""
    return message_name(gvk) is not None


def encode(obj: Mapping[str, Any]) -> bytes:
    """The enveloped message of an object. Raises KeyError for a kind without a binary form.

    Notes
    -----
    The same object always gives the same bytes: fields by number, map entries by key.
    """
    version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    gvk = GroupVersionKind(*GroupVersion.parse(version), kind)
    name = message_name(gvk)
    if name is None:
        raise KeyError(str(gvk))
    unknown: Any = message_class(_UNKNOWN)()
    unknown.typeMeta.apiVersion, unknown.typeMeta.kind = version, kind
    unknown.raw = _serialized(obj, name)
    unknown.contentEncoding = unknown.contentType = ""
    return PREFIX + bytes(unknown.SerializeToString(deterministic=True))


def _serialized(obj: Mapping[str, Any], name: str) -> bytes:
    """The message of an object. Items of a list are made one by one: whole lists would keep other threads waiting."""
    own = next((field for field in fields(name) if field.json_name == "items"), None)
    items = obj.get("items") if own is not None and own.repeated and not own.scalar else None
    message = message_class(name)()
    if own is None or not isinstance(items, list):
        fill(message, obj, name)
        return bytes(message.SerializeToString(deterministic=True))
    fill(message, {**obj, "items": []}, name)
    tag, parts = _varint(own.number << 3 | _LENGTH_DELIMITED), [message.SerializeToString(deterministic=True)]
    for item in items:
        one = message_class(own.type)()
        fill_message(one, own.type, item)
        raw = one.SerializeToString(deterministic=True)
        parts += (tag, _varint(len(raw)), raw)
    return b"".join(parts)


def _varint(number: int) -> bytes:
    """A number as protobuf writes it: seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def decode(body: bytes, default: GroupVersionKind | None = None) -> dict[str, Any]:
    """The object in an enveloped message, with its kind and apiVersion. Raises Unfit for anything else.

    ``default`` names the kind of an envelope that names none.
    """
    if not body:
        raise Unfit("empty data")
    if not body.startswith(PREFIX):
        raise Unfit(
            f"provided data does not appear to be a protobuf message, expected prefix [{' '.join(map(str, PREFIX))}]"
        )
    unknown: Any = message_class(_UNKNOWN)()
    try:
        unknown.ParseFromString(body[len(PREFIX) :])
        version = _text(unknown.typeMeta.apiVersion) or (default.api_version if default else "")
        kind = _text(unknown.typeMeta.kind) or (default.kind if default else "")
        name = message_name(GroupVersionKind(*GroupVersion.parse(version), kind))
        if name is None:
            raise Unfit(f"no kind {quoted(kind)} is registered for version {quoted(version)}")
        message = message_class(name)()
        message.ParseFromString(unknown.raw)
        return {"kind": kind, "apiVersion": version, **read(message, name)}
    except WireError as error:
        raise Unfit(f"the protobuf message cannot be read: {error}") from None
    except UnicodeDecodeError:
        raise Unfit("the protobuf message cannot be read: a text in it is no UTF-8") from None


def _text(value: str | bytes) -> str:
    """A string of a message; the library gives bytes if it is no UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def watch_frame(kind: str, obj: Mapping[str, Any]) -> bytes:
    """One event of a protobuf watch: its length, then a bare WatchEvent with an enveloped object."""
    event: Any = message_class(f"{_META}.WatchEvent")()
    event.type = kind
    event.object.raw = encode(obj)
    raw = event.SerializeToString(deterministic=True)
    return struct.pack(">I", len(raw)) + bytes(raw)
