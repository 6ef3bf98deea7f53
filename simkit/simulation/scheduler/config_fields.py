"""The fields of a KubeSchedulerConfiguration and of the arguments of its plugins: their names and types.

Upstream: k8s.io/kube-scheduler/config/v1/types.go and types_pluginargs.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Shape = Any
"""``str``, ``int``, ``float``, ``bool``, a mapping of fields, ``Each`` for a list, or ``ANY``."""
ANY: Final = object()


class Each(NamedTuple):
    """A list whose elements have a shape."""

    of: Shape


_PLUGIN: Final = {"name": str, "weight": int}
_SET: Final = {"enabled": Each(_PLUGIN), "disabled": Each(_PLUGIN)}
POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
)
"""The extension points, with the one that stands for all."""
_PROFILE: Final = {
    "schedulerName": str,
    "percentageOfNodesToScore": int,
    "plugins": dict.fromkeys(POINTS, _SET),
    "pluginConfig": Each({"name": str, "args": ANY}),
}
_TLS: Final = {
    "insecure": bool,
    **dict.fromkeys(("serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"), str),
}
_EXTENDER: Final = {
    **dict.fromkeys(("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb", "httpTimeout"), str),
    "weight": int,
    "enableHTTPS": bool,
    "tlsConfig": _TLS,
    "nodeCacheCapable": bool,
    "managedResources": Each({"name": str, "ignoredByScheduler": bool}),
    "ignorable": bool,
}
CONFIGURATION: Final = {
    "apiVersion": str,
    "kind": str,
    "parallelism": int,
    "leaderElection": ANY,
    "clientConnection": ANY,
    "enableProfiling": bool,
    "enableContentionProfiling": bool,
    "percentageOfNodesToScore": int,
    "podInitialBackoffSeconds": int,
    "podMaxBackoffSeconds": int,
    "profiles": Each(_PROFILE),
    "extenders": Each(_EXTENDER),
    "delayCacheUntilActive": bool,
}
"""The fields of the document. Those of elections, connections and profiling have no effect on what is decided."""
_RESOURCES: Final = Each({"name": str, "weight": int})
_TYPED: Final = {"apiVersion": str, "kind": str}
_POINT: Final = {"utilization": int, "score": int}
_CONSTRAINT: Final = {
    "maxSkew": int,
    "topologyKey": str,
    "whenUnsatisfiable": str,
    "labelSelector": ANY,
    "minDomains": int,
    "nodeAffinityPolicy": str,
    "nodeTaintsPolicy": str,
    "matchLabelKeys": Each(str),
}
ARGUMENTS: Final[Mapping[str, Shape]] = {
    "DefaultPreemption": {**_TYPED, "minCandidateNodesPercentage": int, "minCandidateNodesAbsolute": int},
    "InterPodAffinity": {**_TYPED, "hardPodAffinityWeight": int, "ignorePreferredTermsOfExistingPods": bool},
    "NodeAffinity": {**_TYPED, "addedAffinity": ANY},
    "NodeResourcesBalancedAllocation": {**_TYPED, "resources": _RESOURCES},
    "NodeResourcesFit": {
        **_TYPED,
        "ignoredResources": Each(str),
        "ignoredResourceGroups": Each(str),
        "scoringStrategy": {
            "type": str,
            "resources": _RESOURCES,
            "requestedToCapacityRatio": {"shape": Each(_POINT)},
        },
    },
    "PodTopologySpread": {**_TYPED, "defaultConstraints": Each(_CONSTRAINT), "defaultingType": str},
    "VolumeBinding": {**_TYPED, "bindTimeoutSeconds": int, "shape": Each(_POINT)},
}
"""The arguments of plugins that have some."""
_WORDS: Final = {str: "a text", int: "a whole number", bool: "true or false"}


class Misfit(NamedTuple):
    """A value that does not have its shape; the text is empty for a field that is not known."""

    path: str
    text: str = ""


def misfits(value: Any, shape: Shape, path: str = "") -> Iterator[Misfit]:
    """The parts of a document that do not have its shape; what is not given fits.

    Examples
    --------
    >>> [each.path for each in misfits({"profiles": [{"name": "x"}]}, CONFIGURATION)]
    ['profiles[0].name']
    """
    if value is None or shape is ANY:
        return
    if isinstance(shape, Each):
        if not isinstance(value, list):
            yield Misfit(path, "must be a list")
            return
        for index, each in enumerate(value):
            yield from misfits(each, shape.of, f"{path}[{index}]")
    elif isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            yield Misfit(path, "must be a map of fields")
            return
        for name, each in value.items():
            below = f"{path}.{name}" if path else str(name)
            if name not in shape:
                yield Misfit(below)
            else:
                yield from misfits(each, shape[name], below)
    elif not isinstance(value, shape) or (shape is int and isinstance(value, bool)):
        yield Misfit(path, f"must be {_WORDS[shape]}")
