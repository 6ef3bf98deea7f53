"""Subresources that a server has only with a feature gate, such as the resize of pods at 1.32."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import replace
from functools import cache

from simkit.meta import datasets
from simkit.schema.feature_gates import is_enabled, parse_feature_gates
from simkit.schema.resources import Resource


@cache
def _gates() -> Mapping[str, str]:
    """The gates by version, resource and subresource: ``v1 pods/resize``."""
    table: Mapping[str, str] = datasets.load("api/releases/gated-subresources.json")
    return table


def closed_subresources(release: str, settings: Mapping[str, bool]) -> Set[str]:
    """The subresources that gates keep out of a release, by version and name.

    Parameters
    ----------
    settings
        Those of ``--feature-gates``.

    Examples
    --------
    >>> sorted(closed_subresources("1.32", {})), sorted(closed_subresources("1.33", {}))
    (['v1 pods/resize'], [])
    """
    values = parse_feature_gates(settings, release).values
    return {name for name, gate in _gates().items() if not is_enabled(gate, release, values)}


def without_subresources(resource: Resource, closed: Collection[str]) -> Resource:
    """The resource without the subresources that are closed; the same one where it has none of them."""
    head = f"{resource.api_version} {resource.resource}/"
    left = {name: info for name, info in resource.subresources.items() if head + name not in closed}
    return resource if len(left) == len(resource.subresources) else replace(resource, subresources=left)
