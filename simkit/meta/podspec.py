"""Container lists of a pod spec.

Follows ``pkg/api/v1/pod/util.go`` (``VisitContainers``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
"""Fields of a pod spec that hold containers, in the order in which kube-apiserver visits them."""
NON_EPHEMERAL: Final = ("containers", "initContainers")
"""The lists of a new pod, in the order in which kube-apiserver defaults, counts and limits their containers."""


def containers_of(spec: Mapping[str, Any], lists: Sequence[str] = CONTAINER_LISTS) -> Iterator[Mapping[str, Any]]:
    """The containers of a pod spec, list by list.

    Examples
    --------
    >>> spec = {"containers": [{"name": "web"}], "initContainers": [{"name": "setup"}]}
    >>> [container["name"] for container in containers_of(spec)]
    ['setup', 'web']
    """
    for name in lists:
        yield from spec.get(name) or ()
