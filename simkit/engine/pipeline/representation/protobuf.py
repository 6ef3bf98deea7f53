"""The protobuf form of objects in requests and answers, and the errors for kinds without one.

Upstream: k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.meta.errors import bad_request, not_acceptable
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Draft

# The protobuf library is imported with the first message: most servers never send one.


def encode(obj: Mapping[str, Any]) -> bytes:
    """The enveloped protobuf message of an object. Raises 406 for kinds without a protobuf form."""
    from simkit.schema import binary

    try:
        return binary.encode(obj)
    except KeyError:
        raise unavailable() from None


def unavailable() -> Exception:
    """406 for a kind without a protobuf form."""
    return not_acceptable("only the following media types are accepted: application/json, application/yaml")


def available(gvk: GroupVersionKind) -> bool:
    """True if a kind has a binary form."""
    from simkit.schema import binary

    return binary.has_binary_form(gvk)


def event(kind: str, obj: Mapping[str, Any]) -> bytes:
    """A frame of a binary watch."""
    from simkit.schema import binary

    return binary.watch_frame(kind, obj)


def decode(body: bytes, gvk: GroupVersionKind) -> Draft:
    """The object in an enveloped protobuf message. Raises 400 for anything else."""
    from simkit.schema import binary
    from simkit.schema.binary.codec import Unfit

    try:
        return binary.decode(body, gvk)
    except Unfit as error:
        raise bad_request(f"the object provided is unrecognized (must be of type {gvk.kind}): {error}") from None
