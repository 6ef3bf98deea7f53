"""Container lists of a pod spec.

Follows ``pkg/api/v1/pod/util.go`` (``VisitContainers``), release 1.30.
"""

from __future__ import annotations

from typing import Final

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
"""Fields of a pod spec that hold containers, in the order in which kube-apiserver visits them."""
