"""The functions of templates that know the cluster: times, nodes and addresses.

References
----------
sigs.k8s.io/kwok, pkg/utils/gotpl/funcs.go and the functions of pkg/kwok/controllers, release 0.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, Protocol

import yaml

from simkit.meta.clock import Clock, micro_time
from simkit.meta.objects import Object, at, name_of
from simkit.simulation.kubelet.node_config import KUBELET_PORT, node_conditions
from simkit.simulation.stages.template.functions import BUILT_IN, quoted
from simkit.simulation.stages.template.library import COLLECTIONS, NUMBERS, TEXTS, chance

VERSION: Final = "simkit"
_NETWORK: Final = {
    "type": "NetworkUnavailable",
    "status": "False",
    "reason": "RouteCreated",
    "message": "RouteController created a route",
}
_TOLD: Final = ("type", "status", "reason", "message")
_NO_ADDRESS: Final = "10.0.0.1"


class Addresses(Protocol):
    """The addresses of nodes and pods."""

    def node_address(self, node: str) -> str:
        """The address of a node; empty for one that is not simulated."""
        ...

    def pod_address(self, node: str, uid: str) -> str:
        """The address of a pod, a free one of its node where it has none; empty where the node is not simulated."""
        ...


def as_yaml(value: Any, indent: int = 0) -> str:
    """A value as YAML, each line after the first one indented by so many steps of two spaces.

    Examples
    --------
    >>> as_yaml({"cpu": "1"}, 1)
    "\\n  cpu: '1'\\n  "
    """
    text = str(yaml.safe_dump(value, default_flow_style=False, sort_keys=True))
    return f"\n{text}".replace("\n", "\n" + "  " * indent) if indent > 0 else text


def conditions() -> list[dict[str, str]]:
    """The conditions of a healthy node, without times."""
    known = {each["type"]: {field: each[field] for field in _TOLD} for each in node_conditions(0.0, 0.0)}
    return [known.pop("Ready"), *known.values(), dict(_NETWORK)]


class StageFunctions:
    """The functions for the templates of one cluster."""

    def __init__(self, clock: Clock, addresses: Addresses, random: Random) -> None:
        self._clock, self._addresses, self._started = clock, addresses, micro_time(clock.now())
        self._general: dict[str, Callable[..., Any]] = {
            **TEXTS,
            **COLLECTIONS,
            **NUMBERS,
            **chance(random),
            **BUILT_IN,
            "Quote": quoted,
            "YAML": as_yaml,
            "Version": lambda: VERSION,
            "NodeConditions": conditions,
            "StartTime": lambda: self._started,
            "Now": lambda: micro_time(clock.now()),
            "now": lambda: micro_time(clock.now()),
            "NodePort": lambda: KUBELET_PORT,
            "NodeIPWith": self._node_address,
            "NodeIPsWith": lambda node: [self._node_address(node)],
            "PodIPWith": self._pod_address,
            "PodIPsWith": lambda *given: [self._pod_address(*given)],
        }

    def of(self, obj: Object) -> Mapping[str, Callable[..., Any]]:
        """The functions for one object: those about a node mean the object itself, or the node of a pod."""
        node = str(at(obj, "spec", "nodeName") or name_of(obj))
        uid = str(at(obj, "metadata", "uid") or "")
        return {
            **self._general,
            "NodeName": lambda: node,
            "NodeIP": lambda: self._node_address(node),
            "NodeIPs": lambda: [self._node_address(node)],
            "PodIP": lambda: self._pod_address(node, False, uid),
            "PodIPs": lambda: [self._pod_address(node, False, uid)],
        }

    def _node_address(self, node: str) -> str:
        return self._addresses.node_address(node) or _NO_ADDRESS

    def _pod_address(self, node: str, host: bool, uid: str, name: str = "", namespace: str = "") -> str:
        if host:
            return self._node_address(node)
        return self._addresses.pod_address(node, uid or f"{namespace}/{name}") or _NO_ADDRESS
