"""Namespace and version in the metadata that a client sends with an object."""

from __future__ import annotations

from simkit.meta.errors import bad_request, unexplained
from simkit.meta.go_number import parse_uint
from simkit.meta.objects import Draft, Object


def place(metadata: Draft, namespace: str) -> None:
    """Put an object that admission left without a namespace into that of the request. Raises 400 for another one."""
    given = metadata.get("namespace") or ""
    if given == namespace:
        return
    if given and namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata.pop("namespace", None)
    if namespace:
        metadata["namespace"] = namespace


def version_number(version: str) -> int:
    """A resourceVersion as a number, 0 for none. Raises the 500 of any other text."""
    try:
        return parse_uint(version) if version else 0
    except ValueError as error:
        raise unexplained(str(error)) from None


def refuse_numbered(draft: Object) -> None:
    """Raise the 500 of a new object with a numeric resourceVersion; other texts are ignored.

    It is the last check, as in ``k8s.io/apiserver/pkg/storage/etcd3/store.go``, release 1.30.
    """
    given = draft["metadata"].get("resourceVersion")
    if not given:
        return
    try:
        version = parse_uint(given)
    except ValueError:
        return
    if version:
        raise unexplained("resourceVersion should not be set on objects to be created")
