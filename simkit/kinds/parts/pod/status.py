"""First status of a pod, and validation of status updates.

Follows ``pkg/registry/core/pod/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv6Address
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.parts.pod.qos import qos_class
from simkit.kinds.parts.pod.validation.annotations import validate_annotation_change
from simkit.kinds.parts.validation.ip import address, validate_ip
from simkit.kinds.parts.validation.labels import validate_qualified_name
from simkit.meta.fielderror import FieldError, Shown, duplicate, forbidden_field, invalid_value
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object

_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")
_GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def first_status(spec: Object) -> Draft:
    """The status of a new pod."""
    status: Draft = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        status["conditions"] = [dict(_GATED)]
    return {**status, "qosClass": qos_class(spec)}


def fit_status(status: Object, old: Object) -> Object:
    """A written status with the QoS class kept if it is missing, and with consistent addresses."""
    found = status
    if not found.get("qosClass") and old.get("qosClass"):
        found = {**found, "qosClass": old["qosClass"]}
    one, several = found.get("podIP") or "", found.get("podIPs") or ()
    if one and (not several or several[0].get("ip") != one):
        found = {**found, "podIPs": [{"ip": one}]}
    elif several and not one:
        found = {**found, "podIP": several[0].get("ip") or ""}
    return found


def validate_status(pod: Object, old: Object) -> Iterator[FieldError]:
    """The errors of a written status."""
    status, before, spec = pod.get("status") or {}, old.get("status") or {}, old.get("spec") or {}
    yield from validate_annotation_change("metadata.annotations", pod, old)
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type") or ""
        if kind not in _SYSTEM_CONDITIONS:
            yield from validate_qualified_name(f"metadata.conditions[{index}].Type", kind)
    name = status.get("nominatedNodeName")
    if name and name != before.get("nominatedNodeName"):
        yield from (invalid_value("status.nominatedNodeName", name, text) for text in dns_subdomain(name))
    sidecars = {one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    lists: Sequence[tuple[str, str, set[Any]]] = (
        ("containerStatuses", spec.get("restartPolicy") or "", set()),
        ("initContainerStatuses", spec.get("restartPolicy") or "", sidecars),
        ("ephemeralContainerStatuses", "Never", set()),
    )
    for field, policy, restarting in lists:
        yield from _revived(f"status.{field}", status.get(field) or (), before.get(field) or (), policy, restarting)
    pods, hosts = status.get("podIPs") or (), status.get("hostIPs") or ()
    yield from _validate_address("podIPs", pods)
    yield from _validate_family("podIPs", "core.PodIP", pods)
    yield from _repeated("podIPs", "core.PodIP", pods)
    if hosts and status.get("hostIP", "") != hosts[0].get("ip"):
        yield invalid_value("status.hostIPs[0].ip", hosts[0].get("ip") or "", "must be equal to `hostIP`")
    yield from _validate_address("hostIPs", hosts)
    yield from _repeated("hostIPs", "core.HostIP", hosts)
    yield from _validate_family("hostIPs", "core.HostIP", hosts)


def _revived(
    path: str, new: Sequence[Object], old: Sequence[Object], policy: str, restarting: set[Any]
) -> Iterator[FieldError]:
    """The errors of terminated containers that run again without a restart."""
    if policy == "Always":
        return
    for index, status in enumerate(old):
        ended = (status.get("state") or {}).get("terminated")
        if ended is None or status.get("name") in restarting:
            continue
        if ended.get("exitCode") and policy == "OnFailure":
            continue
        for other in new:
            if other.get("name") == status.get("name") and not (other.get("state") or {}).get("terminated"):
                yield forbidden_field(f"{path}[{index}].state", "may not be transitioned to non-terminated state")


def _validate_address(name: str, given: Sequence[Object]) -> Iterator[FieldError]:
    for index, one in enumerate(given):
        yield from validate_ip(f"status.{name}[{index}]", one.get("ip") or "")


def _validate_family(name: str, kind: str, given: Sequence[Object]) -> Iterator[FieldError]:
    """The error of several addresses of one family."""
    families = {isinstance(address(one.get("ip") or ""), IPv6Address) for one in given}
    if len(given) > 2 or len(given) > len(families):
        detail = "may specify no more than one IP for each IP family"
        yield invalid_value(f"status.{name}", structures(kind, given), detail)


def _repeated(name: str, kind: str, given: Sequence[Object]) -> Iterator[FieldError]:
    for index, one in enumerate(given):
        if any(one.get("ip") == other.get("ip") for other in given[:index]):
            yield duplicate(f"status.{name}[{index}]", _shown(kind, one))


def _shown(kind: str, one: Object) -> Shown:
    return structure(kind, {"ip": one.get("ip")})
