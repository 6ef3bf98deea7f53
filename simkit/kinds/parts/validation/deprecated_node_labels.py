"""Warnings about node labels that have been replaced by newer ones.

Follows ``pkg/api/node/util.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.name_validation import label_value
from simkit.meta.objects import Object
from simkit.meta.wording import told

_NEWER: Final = {
    label("arch", "beta"): ("v1.14", label("arch")),
    label("os", "beta"): ("v1.14", label("os")),
    label("region", "failure-domain.beta"): ("v1.17", label("region", "topology")),
    label("zone", "failure-domain.beta"): ("v1.17", label("zone", "topology")),
    label("instance-type", "beta"): ("v1.17", label("instance-type", "node")),
}


_LATER: Final = {
    label("created-by", "app"): "deprecated since v1.9",
    label("preferAvoidPods", "scheduler.alpha"): "deprecated since v1.22; use Taints and Tolerations instead",
    label("master", "node-role"): f'use "{label("control-plane", "node-role")}" instead',
}


def deprecation(behaviour: ServedBehaviour, key: str) -> str:
    """The deprecation of a label: its release and the new label; empty for any other label.

    Examples
    --------
    >>> deprecation(ServedBehaviour(30), "beta.kubernetes.io/os")
    'deprecated since v1.14; use "kubernetes.io/os" instead'
    """
    if key in _LATER and behaviour.applies("more-node-labels-deprecated"):
        return _LATER[key]
    if key not in _NEWER:
        return ""
    since, instead = _NEWER[key]
    return f'deprecated since {since}; use "{instead}" instead'


def newer_label(key: str) -> str | None:
    """The replacement of a deprecated label; None for any other label."""
    return _NEWER[key][1] if key in _NEWER else None


def expression_warnings(
    behaviour: ServedBehaviour, path: str, term: Object, *, check_values: bool = False
) -> Iterator[str]:
    """The warnings about the expressions of a selector, or of a term of one, at a path."""
    for index, one in enumerate(term.get("matchExpressions") or ()):
        key = one.get("key") or ""
        if deprecation(behaviour, key):
            yield f"{path}.matchExpressions[{index}].key: {key} is {deprecation(behaviour, key)}"
        if check_values and behaviour.applies("values-of-preferred-affinity-warned"):
            for number, value in enumerate(one.get("values") or ()):
                for wrong in label_value(value):
                    text = f"{value} is invalid, {told(wrong, behaviour)}"
                    yield f"{path}.matchExpressions[{index}].values[{number}]: {text}"


def selector_warnings(behaviour: ServedBehaviour, path: str, selector: Object) -> Iterator[str]:
    """The warnings about a label selector at a path."""
    yield from expression_warnings(behaviour, path, selector)
    for key in selector.get("matchLabels") or ():
        if deprecation(behaviour, key):
            yield f"{path}.matchLabels.{key}: {deprecation(behaviour, key)}"
