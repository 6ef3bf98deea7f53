"""Validation of what the status of a pod says about its resource claims.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simkit.kinds.parts.pod.validation.operating_system import every_container
from simkit.kinds.parts.validation.resource_quantities import is_native
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object, at
from simkit.meta.quantity import canonical, parse

_UNKNOWN: str = "must match the name of an entry in `spec.resourceClaims`"


def validate_claim_statuses(status: Object, spec: Object) -> Iterator[FieldError]:
    """The errors of the claims that were made for a pod."""
    named = {one.get("name") for one in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, one in enumerate(status.get("resourceClaimStatuses") or ()):
        path, name = f"status.resourceClaimStatuses[{index}]", one.get("name") or ""
        if name not in named:
            yield invalid_value(f"{path}.name", name, _UNKNOWN)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        claim = one.get("resourceClaimName")
        where = f"{path}.{'resourceClaimName' if applies('claim-status-error-names-claim') else 'name'}"
        if claim is not None:
            yield from (invalid_value(where, claim, text) for text in dns_subdomain(claim))
    if status.get("extendedResourceClaimStatus") is not None:
        path = "status.extendedResourceClaimStatus"
        yield from _validate_extended(path, status["extendedResourceClaimStatus"], spec)
    yield from _validate_allocatable(status, spec)


def _validate_extended(path: str, status: Object, spec: Object) -> Iterator[FieldError]:
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


def _validate_allocatable(status: Object, spec: Object) -> Iterator[FieldError]:
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


def _validate_amounts(path: str, amounts: Any) -> Iterator[FieldError]:
    for name, amount in amounts.items():
        if not is_native(name):
            yield invalid_value(f"{path}[{name}]", name, "must be a node allocatable resource name")
        if parse(amount).nano < 0:
            yield invalid_value(f"{path}[{name}]", canonical(amount), "must be non-negative")
