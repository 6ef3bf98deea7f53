"""The binary form of objects, and the error for kinds that have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.meta.errors import bad_request, not_acceptable
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Draft


def encode(obj: Mapping[str, Any]) -> bytes:
    """The enveloped protobuf message of an object. Raises 406 for kinds without a binary form."""
    raise not_acceptable("only the following media types are accepted: application/json, application/yaml")


def event(kind: str, obj: Mapping[str, Any]) -> bytes:
    """A frame of a binary watch. Raises 406 for kinds without a binary form."""
    return encode(obj)


def decode(body: bytes, gvk: GroupVersionKind) -> Draft:
    """The object in an enveloped protobuf message. Raises 400 for anything else."""
    raise bad_request(f"the object provided is unrecognized (must be of type {gvk.kind}): no binary form")
