"""The allowed version skew between programs and the API server.

Follows the version skew policy of Kubernetes: kubelets and kube-proxies up to two releases behind, three from API
server 1.28 on for those of 1.25 and later; kubectl one in both directions.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.meta.errors import SimkitError
from simkit.meta.integers import saturating_int
from simkit.schema.releases import minor_of

_KUBECTL: Final = re.compile(r"^kubectl(?:\.exe)?/v?1\.(\d+)\.")
_WIDER_SINCE: Final = 28
_WIDER_FOR: Final = 25


def too_old(version: str, release: str) -> bool:
    """True if a kubelet or kube-proxy is further behind an API server than is supported.

    Examples
    --------
    >>> too_old("v1.25.3", "1.28"), too_old("v1.24.3", "1.27"), too_old("v1.25.3", "1.27")
    (False, True, False)
    """
    minor = minor_in(version)
    if minor is None:
        return False
    allowed = 3 if minor_of(release) >= _WIDER_SINCE and minor >= _WIDER_FOR else 2
    return minor_of(release) - minor > allowed


def minor_in(version: str) -> int | None:
    """The minor release of a version that a node tells; None for what is none."""
    try:
        return minor_of(version)
    except SimkitError:
        return None


def kubectl_minor(agent: str) -> int | None:
    """The minor release of the kubectl that a user agent names.

    Examples
    --------
    >>> kubectl_minor("kubectl/v1.27.3 (linux/amd64) kubernetes/25b4e43"), kubectl_minor("helm/3.1")
    (27, None)
    """
    match = _KUBECTL.match(agent)
    return saturating_int(match.group(1), bits=32) if match else None
