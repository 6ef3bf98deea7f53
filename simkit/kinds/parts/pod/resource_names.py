"""Names of the resources that a pod as a whole can ask for.

Follows ``k8s.io/component-helpers/resource/helpers.go``, release 1.36.
"""

from __future__ import annotations

from typing import Final

HUGE: Final = "hugepages-"
SUPPORTED: Final = ("cpu", HUGE, "memory")


def is_pod_resource(name: str) -> bool:
    """True if a pod as a whole can ask for a resource.

    Examples
    --------
    >>> [is_pod_resource(name) for name in ("cpu", "hugepages-2Mi", "ephemeral-storage")]
    [True, True, False]
    """
    return name in SUPPORTED or name.startswith(HUGE)
