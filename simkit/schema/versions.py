"""Order of version names: stable before beta before alpha, higher numbers first, other names last.

Follows ``k8s.io/apimachinery/pkg/version/helpers.go``, release 1.30.
"""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_STABILITY: Final = {None: 0, "beta": 1, "alpha": 2}

VersionRank = tuple[int, int, int, str]


def is_version(text: str) -> bool:
    """True if a text is the name of a version: ``v1``, ``v2beta1``, ``v1alpha3``."""
    return _VERSION.fullmatch(text) is not None


def version_rank(version: str) -> VersionRank:
    """The sort key of a version: the one that kube-apiserver prefers comes first.

    Examples
    --------
    >>> sorted(["v1beta1", "v1", "v10", "v2alpha1", "foo", "v1beta2"], key=version_rank)
    ['v10', 'v1', 'v1beta2', 'v1beta1', 'v2alpha1', 'foo']
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    major, stability, minor = match.groups()
    return (_STABILITY[stability], -int(major), -int(minor or 0), version)
