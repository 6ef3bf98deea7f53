"""Validation of a pod spec, in the order of kube-apiserver.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.kinds.parts.pod.validation.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from simkit.kinds.parts.pod.validation.dns import validate_dns
from simkit.kinds.parts.pod.validation.environment import validate_file_volumes
from simkit.kinds.parts.pod.validation.operating_system import validate_host_process, validate_operating_system
from simkit.kinds.parts.pod.validation.pod_resources import validate_pod_resources
from simkit.kinds.parts.pod.validation.resource_claims import validate_resource_claims
from simkit.kinds.parts.pod.validation.resources import validate_overhead
from simkit.kinds.parts.pod.validation.scheduling import (
    validate_affinity,
    validate_tolerations,
    validate_topology_spread_constraints,
)
from simkit.kinds.parts.pod.validation.security_context import validate_host_users, validate_pod_security
from simkit.kinds.parts.pod.validation.volumes import validate_volumes
from simkit.kinds.parts.validation.ip import SHORT_ADDRESS, validate_ip
from simkit.kinds.parts.validation.labels import validate_labels, validate_qualified_name
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    too_long,
    unsupported,
)
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object

_LARGEST: Final = 2**31 - 1
_LONGEST_HOSTNAME: Final = 64
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")


def validate_pod_spec(path: str, spec: Object, pod: Object | None) -> list[FieldError]:
    """All errors of a pod spec; ``pod`` is its object, None for a template."""
    volume_errors, volumes = validate_volumes(f"{path}.volumes", spec, pod)
    errors = [*_validate_grace_period(path, spec), *volume_errors]
    if "resourceClaims" in spec:
        errors += validate_resource_claims(f"{path}.resourceClaims", spec, pod)
    errors += validate_containers(f"{path}.containers", spec, volumes)
    if "initContainers" in spec:
        errors += validate_init_containers(f"{path}.initContainers", spec, volumes)
    if "ephemeralContainers" in spec:
        errors += validate_ephemeral_containers(f"{path}.ephemeralContainers", spec, volumes)
    if spec.get("resources") is not None and applies("pod-level-resources"):
        errors += validate_pod_resources(path, spec)
    told_early = applies("host-ports-told")
    if spec.get("hostNetwork") and told_early:
        errors += _validate_host_network(f"{path}.containers", spec, strict=pod is not None)
    errors += _validate_policy(path, spec)
    if spec.get("nodeSelector"):
        errors += validate_labels(f"{path}.nodeSelector", spec["nodeSelector"])
    if spec.get("hostNetwork") and not told_early:
        errors += _validate_host_network(f"{path}.containers", spec, strict=True)
    errors += validate_pod_security(f"{path}.securityContext", spec)
    if spec.get("affinity"):
        errors += validate_affinity(f"{path}.affinity", spec["affinity"])
    errors += validate_dns(f"{path}.dnsConfig", spec)
    errors += _validate_gate(path, spec)
    if spec.get("topologySpreadConstraints"):
        errors += validate_topology_spread_constraints(
            f"{path}.topologySpreadConstraints", spec["topologySpreadConstraints"]
        )
    errors += validate_host_process(path, spec)
    errors += validate_host_users(path, spec)
    if spec.get("hostnameOverride") is not None:
        errors += _validate_hostname_override(f"{path}.hostnameOverride", spec)
    errors += _validate_name(path, spec)
    errors += _validate_late(path, spec)
    return errors


def _validate_grace_period(path: str, spec: Object) -> Iterator[FieldError]:
    if spec.get("terminationGracePeriodSeconds") is None and applies("grace-period-required"):
        yield required(f"{path}.terminationGracePeriodSeconds")


def _validate_hostname_override(path: str, spec: Object) -> Iterator[FieldError]:
    name = spec["hostnameOverride"]
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(other):
            yield forbidden_field(path, f"may not be specified when {other} is true")
    if len(name) > _LONGEST_HOSTNAME:
        yield too_long(path, _LONGEST_HOSTNAME)
    yield from (invalid_value(path, name, text) for text in dns_subdomain(name))


def _validate_host_network(path: str, spec: Object, *, strict: bool) -> Iterator[FieldError]:
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            ports = {name: port.get(name) or 0 for name in ("hostPort", "containerPort")}
            if (strict or ports["hostPort"]) and ports["hostPort"] != ports["containerPort"]:
                wrong, other = ports if applies("host-ports-told") else reversed(ports)
                text = f"must match `{other}` when `hostNetwork` is true"
                yield invalid_value(f"{path}[{index}].ports[{number}].{wrong}", ports[wrong], text)


def _validate_policy(path: str, spec: Object) -> Iterator[FieldError]:
    for name, choices in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", _DNS_POLICIES)):
        value = spec.get(name) or ""
        if not value:
            yield required(f"{path}.{name}")
        elif value not in choices:
            yield unsupported(f"{path}.{name}", value, choices)


def _validate_gate(path: str, spec: Object) -> Iterator[FieldError]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        yield from validate_qualified_name(
            f"{path}.readinessGates[{index}].conditionType", gate.get("conditionType") or ""
        )
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        at, name = f"{path}.schedulingGates[{index}]", gate.get("name") or ""
        yield from validate_qualified_name(at, name)
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)


def _validate_name(path: str, spec: Object) -> Iterator[FieldError]:
    for name in ("serviceAccountName", "nodeName"):
        value = spec.get(name)
        if value:
            yield from (invalid_value(f"{path}.{name}", value, text) for text in dns_subdomain(value))
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _LARGEST:
        yield invalid_value(f"{path}.activeDeadlineSeconds", seconds, f"must be between 1 and {_LARGEST}, inclusive")
    for name in ("hostname", "subdomain"):
        value = spec.get(name)
        if value:
            yield from (invalid_value(f"{path}.{name}", value, text) for text in dns_label(value))


def _validate_late(path: str, spec: Object) -> Iterator[FieldError]:
    yield from validate_tolerations(f"{path}.tolerations", spec.get("tolerations") or ())
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from _validate_alias(f"{path}.hostAliases", index, alias)
    for name in ("priorityClassName", "runtimeClassName"):
        value = spec.get(name)
        if value or (value is not None and name == "runtimeClassName"):
            yield from (invalid_value(f"{path}.{name}", value, text) for text in dns_subdomain(value))
    policy = spec.get("preemptionPolicy")
    if policy == "":
        yield required(f"{path}.preemptionPolicy")
    elif policy not in (None, "PreemptLowerPriority", "Never"):
        yield unsupported(f"{path}.preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    if spec.get("overhead"):
        yield from validate_overhead(f"{path}.overhead", spec["overhead"])
    if spec.get("os") is not None:
        yield from validate_operating_system(path, spec)
    if spec.get("schedulingGroup") is not None:
        yield from _validate_scheduling_group(f"{path}.schedulingGroup.podGroupName", spec["schedulingGroup"])
    yield from validate_file_volumes(path, spec)


def _validate_scheduling_group(path: str, group: Object) -> Iterator[FieldError]:
    name = group.get("podGroupName")
    if name is None:
        yield invalid_value(path, None, "must specify one of: `podGroupName`")
    else:
        yield from (invalid_value(path, name, text) for text in dns_subdomain(name))


def _validate_alias(path: str, index: int, alias: Any) -> Iterator[FieldError]:
    placed = applies("addresses-told-alike")
    at = f"{path}[{index}]" if placed else path
    yield from validate_ip(f"{at}.ip", alias.get("ip") or "", formerly=SHORT_ADDRESS)
    for number, name in enumerate(alias.get("hostnames") or ()):
        where = f"{at}.hostnames[{number}]" if placed else f"{at}.hostnames"
        yield from (invalid_value(where, name, text) for text in dns_subdomain(name))
