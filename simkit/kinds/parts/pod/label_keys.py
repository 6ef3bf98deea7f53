"""Selectors of a new pod that take the values of the pod's own labels: ``matchLabelKeys``, ``mismatchLabelKeys``.

Follows ``pkg/registry/core/pod/strategy.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.kinds.parts.pod.validation.scheduling import PREFERRED, REQUIRED
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object

_KEYS: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
_SPREAD: Final = "topologySpreadConstraints"


def with_label_keys(spec: Object, labels: Mapping[str, str]) -> Object:
    """The spec of a pod with these labels, with the values written into its selectors.

    Examples
    --------
    >>> term = {"labelSelector": {}, "matchLabelKeys": ["a"]}
    >>> spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    >>> with_label_keys(spec, {"a": "1"}) == spec  # not at 1.30
    True
    """
    found = spec
    if spec.get("affinity") and applies("affinity-selector-takes-label-keys"):
        found = {**found, "affinity": _affinity(spec["affinity"], labels)}
    if spec.get(_SPREAD) and applies("spread-selector-takes-label-keys"):
        found = {**found, _SPREAD: [_selecting(one, labels) for one in spec[_SPREAD]]}
    return found


def _affinity(affinity: Object, labels: Mapping[str, str]) -> Object:
    made = dict(affinity)
    for name in ("podAffinity", "podAntiAffinity"):
        if made.get(name):
            made[name] = _pod_affinity(made[name], labels)
    return made


def _pod_affinity(affinity: Object, labels: Mapping[str, str]) -> Object:
    made = dict(affinity)
    if made.get(REQUIRED):
        made[REQUIRED] = [_selecting(one, labels) for one in made[REQUIRED]]
    if made.get(PREFERRED):
        term = "podAffinityTerm"
        made[PREFERRED] = [{**one, term: _selecting(one.get(term) or {}, labels)} for one in made[PREFERRED]]
    return made


def _selecting(term: Object, labels: Mapping[str, str]) -> Object:
    """A term with an expression for each of its keys that the pod has as a label."""
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in _KEYS
        for key in term.get(field) or ()
        if key in labels
    ]
    if selector is None or not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}
