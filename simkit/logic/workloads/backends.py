"""The pods behind a service, with their addresses and ports.

pkg/controller/endpoint and k8s.io/endpointslice, release 1.30.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.logic.workloads.pods import has_ended, is_ready
from simkit.meta.domain import label
from simkit.meta.objects import Object, at, labels_of, metadata, name_of, namespace_of

HEADLESS: Final = label("headless", "service")
SERVICE_NAME: Final = label("service-name")
MANAGED_BY: Final = label("managed-by", "endpointslice")
CHANGED: Final = label("last-change-trigger-time", "endpoints")
OVER_CAPACITY: Final = label("over-capacity", "endpoints")
ZONE: Final = label("zone", "topology")


@dataclass(frozen=True, slots=True)
class Backend:
    """One pod at one address, with the service's ports on it."""

    pod: Object
    address: str
    ports: tuple[tuple[tuple[str, Any], ...], ...]
    """Name, protocol, number and application protocol of each port, as dictionary items."""
    serving: bool
    going: bool
    publish_early: bool

    @property
    def ready(self) -> bool:
        return self.publish_early or (self.serving and not self.going)

    @property
    def target(self) -> dict[str, Any]:
        """The reference to the pod in endpoints."""
        uid = metadata(self.pod).get("uid", "")
        return {"kind": "Pod", "namespace": namespace_of(self.pod), "name": name_of(self.pod), "uid": uid}


def is_headless(service: Object) -> bool:
    """True if a service has no address of its own."""
    return bool(at(service, "spec", "clusterIP") == "None")


def selects(service: Object, pod: Object) -> bool:
    """True if a service leads to a pod."""
    selector = at(service, "spec", "selector")
    return bool(selector) and selector.items() <= labels_of(pod).items()


def families(service: Object) -> list[str]:
    """The address families of a service, the primary one first."""
    return list(at(service, "spec", "ipFamilies") or ["IPv4"])


def backends(service: Object, pods: Iterable[Object], family: str) -> list[Backend]:
    """The endpoints of a service in one address family, by name of the pod. Pods that have ended do not count."""
    early = bool(at(service, "spec", "publishNotReadyAddresses"))
    found: list[Backend] = []
    for pod in pods:
        address = _address(pod, family)
        if not address or not selects(service, pod) or has_ended(pod):
            continue
        going = bool(metadata(pod).get("deletionTimestamp"))
        ports = tuple(tuple(port.items()) for port in _ports(service, pod))
        found.append(Backend(pod, address, ports, is_ready(pod), going, early))
    return found


def _address(pod: Object, family: str) -> str:
    listed = [each.get("ip", "") for each in at(pod, "status", "podIPs") or ()] or [at(pod, "status", "podIP") or ""]
    return next((text for text in listed if text and family_of(text) == family), "")


def family_of(address: str) -> str:
    """``IPv4`` or ``IPv6``; empty for anything but an address."""
    try:
        return f"IPv{ipaddress.ip_address(address).version}"
    except ValueError:
        return ""


def _ports(service: Object, pod: Object) -> list[dict[str, Any]]:
    """The ports of a service on this pod. A port name that the pod does not have is left out."""
    found: list[dict[str, Any]] = []
    for port in at(service, "spec", "ports") or ():
        number = _number(pod, port)
        if number is None:
            continue
        made = {"name": port.get("name") or "", "protocol": port.get("protocol") or "TCP", "port": number}
        if port.get("appProtocol"):
            made["appProtocol"] = port["appProtocol"]
        found.append(made)
    return found


def _number(pod: Object, port: Mapping[str, Any]) -> int | None:
    target = port.get("targetPort") or port.get("port")
    if isinstance(target, int):
        return target
    containers = [*(at(pod, "spec", "containers") or ())]
    containers += [each for each in at(pod, "spec", "initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in containers:
        for each in container.get("ports") or ():
            if each.get("name") == target and (each.get("protocol") or "TCP") == (port.get("protocol") or "TCP"):
                return int(each["containerPort"])
    return None


def hostname(service: Object, pod: Object) -> str:
    """The host name of a pod in a service, if the pod sets one."""
    same = at(pod, "spec", "subdomain") == name_of(service) and namespace_of(pod) == namespace_of(service)
    return (at(pod, "spec", "hostname") or "") if same else ""


def triggered(service: Object, pods: Sequence[Object]) -> str:
    """The time of the last change behind a service, as far as its objects show."""
    times = [metadata(service).get("creationTimestamp") or ""]
    for pod in pods:
        times += [
            each.get("lastTransitionTime") or ""
            for each in at(pod, "status", "conditions") or ()
            if each.get("type") == "Ready"
        ]
    return max(times)


def inherited(service: Object) -> dict[str, str]:
    """The labels that a service passes on to its endpoints."""
    labels = {name: value for name, value in labels_of(service).items() if name != HEADLESS}
    return {**labels, HEADLESS: ""} if is_headless(service) else labels
