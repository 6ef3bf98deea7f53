"""What is wrong with a pod spec, in the order in which the real server looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.kinds.parts.addresses import address_faults
from simkit.kinds.parts.pod.containers import (
    container_faults,
    ephemeral_container_faults,
    init_container_faults,
)
from simkit.kinds.parts.pod.dns import dns_faults
from simkit.kinds.parts.pod.labels import label_faults, name_faults
from simkit.kinds.parts.pod.platform import platform_faults, windows_host_faults
from simkit.kinds.parts.pod.resources import overhead_faults
from simkit.kinds.parts.pod.scheduling import affinity_faults, spread_faults, toleration_faults
from simkit.kinds.parts.pod.security import pod_security_faults
from simkit.kinds.parts.pod.volumes import volume_faults
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, unsupported
from simkit.meta.format import dns_label, dns_subdomain
from simkit.meta.objects import Object

_LARGEST: Final = 2**31 - 1
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")


def pod_spec_faults(path: str, spec: Object, pod: Object | None) -> list[FieldError]:
    """All that is wrong with a pod spec; ``pod`` is the object that it is of, None for a template."""
    errors, volumes = volume_faults(f"{path}.volumes", spec, pod)
    errors += container_faults(f"{path}.containers", spec, volumes)
    if "initContainers" in spec:
        errors += init_container_faults(f"{path}.initContainers", spec, volumes)
    if "ephemeralContainers" in spec:
        errors += ephemeral_container_faults(f"{path}.ephemeralContainers", spec, volumes)
    if spec.get("hostNetwork"):
        errors += _host_network_faults(f"{path}.containers", spec, strict=pod is not None)
    errors += _policy_faults(path, spec)
    if spec.get("nodeSelector"):
        errors += label_faults(f"{path}.nodeSelector", spec["nodeSelector"])
    errors += pod_security_faults(f"{path}.securityContext", spec)
    if spec.get("affinity"):
        errors += affinity_faults(f"{path}.affinity", spec["affinity"])
    errors += dns_faults(f"{path}.dnsConfig", spec)
    errors += _gate_faults(path, spec)
    if spec.get("topologySpreadConstraints"):
        errors += spread_faults(f"{path}.topologySpreadConstraints", spec["topologySpreadConstraints"])
    errors += windows_host_faults(path, spec)
    errors += _name_faults(path, spec)
    errors += _late_faults(path, spec)
    return errors


def _host_network_faults(path: str, spec: Object, *, strict: bool) -> Iterator[FieldError]:
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (strict or host) and host != (port.get("containerPort") or 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                yield invalid_value(f"{path}[{index}].ports[{number}].hostPort", host, text)


def _policy_faults(path: str, spec: Object) -> Iterator[FieldError]:
    for name, choices in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", _DNS_POLICIES)):
        value = spec.get(name) or ""
        if not value:
            yield required(f"{path}.{name}")
        elif value not in choices:
            yield unsupported(f"{path}.{name}", value, choices)


def _gate_faults(path: str, spec: Object) -> Iterator[FieldError]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        yield from name_faults(f"{path}.readinessGates[{index}].conditionType", gate.get("conditionType") or "")
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        at, name = f"{path}.schedulingGates[{index}]", gate.get("name") or ""
        yield from name_faults(at, name)
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)


def _name_faults(path: str, spec: Object) -> Iterator[FieldError]:
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


def _late_faults(path: str, spec: Object) -> Iterator[FieldError]:
    yield from toleration_faults(f"{path}.tolerations", spec.get("tolerations") or ())
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from _alias_faults(f"{path}.hostAliases[{index}]", alias)
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
        yield from overhead_faults(f"{path}.overhead", spec["overhead"])
    if spec.get("os") is not None:
        yield from platform_faults(path, spec)


def _alias_faults(path: str, alias: Any) -> Iterator[FieldError]:
    yield from address_faults(f"{path}.ip", alias.get("ip") or "")
    for index, name in enumerate(alias.get("hostnames") or ()):
        yield from (invalid_value(f"{path}.hostnames[{index}]", name, text) for text in dns_subdomain(name))
