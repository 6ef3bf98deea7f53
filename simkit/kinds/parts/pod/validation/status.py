"""First status of a pod, and validation of status updates.

Follows ``pkg/registry/core/pod/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.parts.pod.profiles import validate_annotation_change
from simkit.kinds.parts.pod.qos import qos_class
from simkit.kinds.parts.pod.validation.security_context import ID, every_container
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.parts.validation.ip import address, ip_warnings, validate_ip
from simkit.kinds.parts.validation.object_meta import QUALIFIED
from simkit.kinds.parts.validation.resource_quantities import is_native
from simkit.kinds.rules import distinct, fields, items, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.fielderror import (
    Errors,
    duplicate,
    forbidden_field,
    internal_error,
    invalid_value,
    required,
)
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Draft, Object, at
from simkit.meta.quantity import canonical, parse


def validate_claim_statuses(behaviour: ServedBehaviour, status: Object, spec: Object) -> Errors:
    """The errors of the claims that were made for a pod."""
    named = {one.get("name") for one in spec.get("resourceClaims") or ()}
    given = status.get("resourceClaimStatuses") or ()
    again = repeats(one.get("name") or "" for one in given)
    for index, one in enumerate(given):
        path, name = f"status.resourceClaimStatuses[{index}]", one.get("name") or ""
        if name not in named:
            yield invalid_value(f"{path}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if index in again:
            yield duplicate(f"{path}.name", name)
        claim = one.get("resourceClaimName")
        where = f"{path}.{'resourceClaimName' if behaviour.applies('claim-status-error-names-claim') else 'name'}"
        if claim is not None:
            yield from (invalid_value(where, claim, text) for text in dns_subdomain(claim))
    if status.get("extendedResourceClaimStatus") is not None:
        path = "status.extendedResourceClaimStatus"
        yield from _validate_extended(path, status["extendedResourceClaimStatus"], spec)
    yield from _validate_allocatable(status, spec)


def _validate_extended(path: str, status: Object, spec: Object) -> Errors:
    """The claim that stands for extended resources of containers."""
    containers = {one.get("name") or "": one for _, one in every_container("", {**spec, "ephemeralContainers": ()})}
    mappings = status.get("requestMappings") or ()
    if not mappings:
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: list[tuple[str, ...]] = []
    for index, one in enumerate(mappings):
        here = f"{path}.requestMappings[{index}]"
        container, resource = one.get("containerName") or "", one.get("resourceName") or ""
        lists = ("spec.initContainers", "spec.containers")
        if container not in containers:
            text = f"must match the name of an entry in {' or '.join(f'{each}.name' for each in lists)}"
            yield invalid_value(f"{here}.containerName", container, text)
        elif resource not in (at(containers[container], "resources", "requests") or {}):
            listed = " or ".join(f"{each}.resources.requests" for each in lists)
            text = f"must match the extended resource name of an entry in {listed}"
            yield invalid_value(f"{here}.resourceName", resource, text)
        request = one.get("requestName") or ""
        yield from (invalid_value(f"{path}.requestName", request, text) for text in dns_label(request))
        key = (container, resource, request)
        if key in seen:
            names = ("containerName", "resourceName", "requestName")
            yield from (duplicate(f"{here}.{name}", value) for name, value in zip(names, key, strict=True))
        seen.append(key)
    claim = status.get("resourceClaimName") or ""
    if not claim:
        yield required(f"{path}.resourceClaimName")
    else:
        yield from (invalid_value(f"{path}.resourceClaimName", claim, text) for text in dns_subdomain(claim))


def _validate_allocatable(status: Object, spec: Object) -> Errors:
    """Claims of resources that the node allocates itself."""
    known = {one.get("resourceClaimName") for one in spec.get("resourceClaims") or ()}
    known |= {one.get("resourceClaimName") for one in status.get("resourceClaimStatuses") or ()}
    for index, one in enumerate(status.get("nodeAllocatableResourceClaimStatuses") or ()):
        path, claim = f"status.nodeAllocatableResourceClaimStatuses[{index}]", one.get("resourceClaimName") or ""
        if not claim:
            yield required(f"{path}.resourceClaimName", "must not be empty")
        if claim not in known:
            yield invalid_value(f"{path}.resourceClaimName", claim, "no mapping found in pod reference")
        yield from (required(f"{path}.{name}", "must not be empty") for name in _NEEDED if not one.get(name))
        yield from _validate_amounts(f"{path}.resources", one.get("resources") or {})


_NEEDED = ("containers", "resources")


def _validate_amounts(path: str, amounts: Any) -> Errors:
    for name, amount in amounts.items():
        if not is_native(name):
            yield invalid_value(f"{path}[{name}]", name, "must be a node allocatable resource name")
        if parse(amount).nano < 0:
            yield invalid_value(f"{path}[{name}]", canonical(amount), "must be non-negative")


_LISTS: Final = (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers"))
_EPHEMERAL: Final = "ephemeralContainerStatuses"
_CLAIM: Final = "claim:"
_OF_CLAIMS: Final = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
    "'claim:<claimName>' if request is empty"
)


def validate_container_statuses(behaviour: ServedBehaviour, status: Object, spec: Object) -> Errors:
    """The errors of the users that containers run as, and of the resources that they got."""
    windows = at(spec, "os", "name") == "windows"
    user = "user.linux" if behaviour.applies("error-of-container-user-names-user") else "linux"
    for name in (*(name for name, _ in _LISTS), _EPHEMERAL):
        for index, one in enumerate(status.get(name) or ()):
            path = f"status.{name}[{index}].{user}"
            yield from _validate_user(behaviour, path, at(one, "user", "linux"), windows=windows)
    for name, containers in _LISTS:
        yield from _validate_allocated(behaviour, f"status.{name}", status.get(name) or (), spec.get(containers) or ())
    for index, one in enumerate(status.get(_EPHEMERAL) or ()):
        if one.get("allocatedResourcesStatus"):
            path = f"status.{_EPHEMERAL}[{index}].allocatedResourcesStatus"
            yield forbidden_field(path, "must not be specified in container status")


def _validate_user(behaviour: ServedBehaviour, path: str, user: Object | None, *, windows: bool) -> Errors:
    if user is None:
        return
    if windows:
        yield forbidden_field(path, "cannot be set for a windows pod")
        return
    yield from placed(path, _USER(behaviour, user))


_USER: Final = table(row("uid", ID, zero=0), row("gid", ID, zero=0), row("supplementalGroups[]", ID))


def _validate_allocated(
    behaviour: ServedBehaviour, path: str, statuses: Sequence[Object], containers: Sequence[Object]
) -> Errors:
    by_name = {one.get("name"): one for one in reversed(containers)}
    for index, status in enumerate(statuses):
        container = by_name.get(status.get("name"))
        for number, one in enumerate(status.get("allocatedResourcesStatus") or ()):
            here = f"{path}[{index}].allocatedResourcesStatus[{number}]"
            if container is not None:
                yield from _validate_resource_name(behaviour, f"{here}.name", one.get("name") or "", container)
            yield from placed(f"{here}.resources", _HEALTH(behaviour, one.get("resources") or ()))


def _validate_resource_name(behaviour: ServedBehaviour, path: str, name: str, container: Object) -> Errors:
    knows_claims = behaviour.applies("claims-in-allocated-resources")
    if not knows_claims or not name.startswith(_CLAIM):
        if name not in (at(container, "resources", "requests") or {}):
            word = "requests" if knows_claims else "requirements"
            yield invalid_value(path, name, f"must match one of the container's resource {word}")
        return
    claims = at(container, "resources", "claims") or ()
    known = {"/".join(filter(None, (one.get("name"), one.get("request")))) for one in claims}
    if name.removeprefix(_CLAIM) not in known:
        yield invalid_value(path, name, _OF_CLAIMS)


_HEALTH: Final = items(
    row("health", must.be_one_of("Healthy", "Unhealthy", "Unknown"), zero=""),
    row(
        "message",
        must.be_given("must be non-empty if specified"),
        must.be_no_longer_than(1024),
        when=fields.present("message"),
    ),
    distinct("resourceID"),
)


_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")
_NOT_NEGATIVE: Final = "must be a non-negative integer"
_GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def first_status(behaviour: ServedBehaviour, spec: Object) -> Draft:
    """The status of a new pod."""
    status: Draft = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        status["conditions"] = [dict(_GATED)]
    return {**status, "qosClass": qos_class(behaviour, spec)}


def with_time(condition: Object, now: float) -> Object:
    """A condition that changed just now."""
    return {**condition, "lastTransitionTime": timestamp(now)}


def status_warnings(behaviour: ServedBehaviour, pod: Object, old: Object | None) -> Sequence[str]:
    """Warnings of addresses in the status."""
    if not behaviour.applies("addresses-warned-about"):
        return ()
    lists = ((name, at(pod, "status", name) or ()) for name in ("podIPs", "hostIPs"))
    places = (
        (f"status.{name}[{index}].ip", one.get("ip") or "") for name, each in lists for index, one in enumerate(each)
    )
    return [warning for path, text in places for warning in ip_warnings(behaviour, path, text)]


def keep_observed(status: Object, old: Object) -> Object:
    """A written status with the observed generations that it leaves out."""
    found = dict(status)
    if not found.get("observedGeneration") and old.get("observedGeneration"):
        found["observedGeneration"] = old["observedGeneration"]
    before: dict[Any, list[int]] = {}
    for one in old.get("conditions") or ():
        before.setdefault(one.get("type"), []).append(one.get("observedGeneration") or 0)
    conditions = [_observed(one, before) for one in found.get("conditions") or ()]
    return {**found, "conditions": conditions} if conditions else found


def _observed(condition: Object, before: dict[Any, list[int]]) -> Object:
    known = before.get(condition.get("type"))
    generation = known.pop(0) if known else 0
    if condition.get("observedGeneration") or not generation:
        return condition
    return {**condition, "observedGeneration": generation}


def fit_status(behaviour: ServedBehaviour, status: Object, old: Object) -> Object:
    """A written status with the QoS class kept if it is missing, and with consistent addresses."""
    found = status
    if (
        not found.get("qosClass")
        and old.get("qosClass")
        and behaviour.applies("quality-of-service-is-checked-in-status")
    ):
        found = {**found, "qosClass": old["qosClass"]}
    one, several = found.get("podIP") or "", found.get("podIPs") or ()
    if one and (not several or several[0].get("ip") != one):
        found = {**found, "podIPs": [{"ip": one}]}
    elif several and not one:
        found = {**found, "podIP": several[0].get("ip") or ""}
    return found


def validate_status(behaviour: ServedBehaviour, pod: Object, old: Object) -> Errors:
    """The errors of a written status."""
    status, before, spec = pod.get("status") or {}, old.get("status") or {}, old.get("spec") or {}
    yield from validate_annotation_change(behaviour, "metadata.annotations", pod, old)
    yield from _validate_conditions(behaviour, status.get("conditions") or ())
    yield from _validate_nomination(behaviour, status.get("nominatedNodeName"), before.get("nominatedNodeName"), spec)
    if (status.get("observedGeneration") or 0) < 0:
        yield invalid_value("status.observedGeneration", status["observedGeneration"], _NOT_NEGATIVE)
    if behaviour.applies("quality-of-service-is-checked-in-status") and status.get("qosClass") != before.get(
        "qosClass"
    ):
        yield invalid_value("status.qosClass", status.get("qosClass") or "", "field is immutable")
    sidecars = {one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    lists: Sequence[tuple[str, str, set[Any]]] = (
        ("containerStatuses", spec.get("restartPolicy") or "", set()),
        ("initContainerStatuses", spec.get("restartPolicy") or "", sidecars),
        ("ephemeralContainerStatuses", "Never", set()),
    )
    for field, policy, restarting in lists:
        yield from _revived(f"status.{field}", status.get(field) or (), before.get(field) or (), policy, restarting)
    yield from validate_claim_statuses(behaviour, status, spec)
    pods, hosts = status.get("podIPs") or (), status.get("hostIPs") or ()
    repeats = not behaviour.applies("repeated-addresses-told-once")
    yield from _validate_address(behaviour, "podIPs", pods, before.get("podIPs") or ())
    yield from _validate_family("podIPs", "core.PodIP", pods)
    if repeats:
        yield from _repeated("podIPs", "core.PodIP", pods)
    if hosts and status.get("hostIP", "") != hosts[0].get("ip"):
        yield invalid_value("status.hostIPs[0].ip", hosts[0].get("ip") or "", "must be equal to `hostIP`")
    yield from _validate_address(behaviour, "hostIPs", hosts, before.get("hostIPs") or ())
    if repeats:
        yield from _repeated("hostIPs", "core.HostIP", hosts)
    yield from _validate_family("hostIPs", "core.HostIP", hosts)
    yield from validate_container_statuses(behaviour, status, spec)


def _validate_conditions(behaviour: ServedBehaviour, conditions: Sequence[Object]) -> Errors:
    place = "status" if behaviour.applies("pod-conditions-named-in-status") else "metadata"
    for index, condition in enumerate(conditions):
        path, kind = f"{place}.conditions[{index}]", condition.get("type") or ""
        if (condition.get("observedGeneration") or 0) < 0:
            yield invalid_value(f"{path}.observedGeneration", condition["observedGeneration"], _NOT_NEGATIVE)
        if kind not in _SYSTEM_CONDITIONS:
            yield from placed(f"{path}.Type", QUALIFIED(behaviour, kind))


def _validate_nomination(behaviour: ServedBehaviour, name: str | None, before: str | None, spec: Object) -> Errors:
    if not name or name == before:
        return
    yield from (invalid_value("status.nominatedNodeName", name, text) for text in dns_subdomain(name))
    if spec.get("nodeName") and behaviour.applies("no-nomination-of-bound-pods"):
        text = "may not be set on pods that are already bound to a node"
        yield forbidden_field("status.nominatedNodeName", text)


def _revived(path: str, new: Sequence[Object], old: Sequence[Object], policy: str, restarting: set[Any]) -> Errors:
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


def _validate_address(
    behaviour: ServedBehaviour, name: str, given: Sequence[Object], before: Sequence[Object]
) -> Errors:
    kept = [one.get("ip") or "" for one in before]
    for index, one in enumerate(given):
        yield from validate_ip(behaviour, f"status.{name}[{index}]", one.get("ip") or "", kept)


def _validate_family(name: str, kind: str, given: Sequence[Object]) -> Errors:
    """The errors of several addresses of one family, and of several of which one is none."""
    if len(given) < 2:
        return
    found = [address(one.get("ip") or "") for one in given]
    wrong = next((index for index, one in enumerate(found) if one is None), None)
    if wrong is not None:
        text = f"invalid IP[{wrong}]: {given[wrong].get('ip') or ''}"
        yield internal_error(f"status.{name}", f"failed to check for dual stack with error:{text}")
    families = {isinstance(one, IPv6Address) for one in found}
    if wrong is not None or len(given) > len(families):
        detail = "may specify no more than one IP for each IP family"
        yield invalid_value(f"status.{name}", structures(kind, given), detail)


def _repeated(name: str, kind: str, given: Sequence[Object]) -> Errors:
    for index in sorted(repeats(one.get("ip") for one in given)):
        yield duplicate(f"status.{name}[{index}]", structure(kind, {"ip": given[index].get("ip")}))
