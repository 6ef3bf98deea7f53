"""The kind that errors of validation name, where it is not the kind of the request.

Follows ``k8s.io/apiserver/pkg/registry/rest/create.go``: it is the first one that the Go type is registered as.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.behaviour import applies
from simkit.meta.domain import api_group
from simkit.meta.names import GroupKind

_IN_EXTENSIONS: Final = frozenset(GroupKind(api_group("networking"), kind) for kind in ("Ingress", "NetworkPolicy"))
"""Kinds whose Go types belong to the group extensions too."""


def kind_in_errors(kind: GroupKind) -> GroupKind:
    """The kind that says what is wrong with an object: the group is the first one that has the Go type."""
    if kind not in _IN_EXTENSIONS or applies("errors-name-own-groups"):
        return kind
    return GroupKind("extensions", kind.kind)
