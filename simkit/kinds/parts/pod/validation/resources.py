"""Validation of container resources: requests, limits, overhead.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.qos import HUGE, SUPPORTED, is_pod_resource, pod_limits, pod_requests
from simkit.kinds.parts.validation.resource_quantities import (
    is_native,
    validate_container_resource_name,
    validate_resource_name,
    validate_resource_quantity,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import MIRROR_POD
from simkit.meta.fielderror import Errors, duplicate, forbidden_field, invalid_value, missing, required, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object, annotations_of, at
from simkit.meta.quantity import QuantityError, canonical, parse
from simkit.meta.resource_list import resource_list_of


def claim_names(spec: Object) -> Sequence[str]:
    """The names of the claims of a pod spec, sorted."""
    claims = spec.get("resourceClaims")
    return sorted({one.get("name") or "" for one in claims}) if claims else ()


def validate_resource_claims(path: str, spec: Object, pod: Object | None) -> Errors:
    """The errors of the resource claims of a pod spec; ``pod`` is None for a template."""
    names: set[str] = set()
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        if pod is not None and MIRROR_POD in annotations_of(pod):
            yield forbidden_field("", "static pods do not support resource claims")
        else:
            yield from _validate_claim(f"{path}[{index}]", claim, names)


def _validate_claim(path: str, claim: Object, names: set[str]) -> Errors:
    name = claim.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    elif name in names:
        yield duplicate(f"{path}.name", name)
    else:
        yield from (invalid_value(f"{path}.name", name, text) for text in dns_label(name))
        names.add(name)
    sources = [each for each in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(each) is not None]
    if len(sources) != 1:
        one, other = "`resourceClaimName`", "`resourceClaimTemplateName`"
        none = f"must specify one of: {one}, {other}"
        text = f"at most one of {one} or {other} may be specified" if sources else none
        yield invalid_value(path, structure("core.PodResourceClaim", claim), text)
    for each in sources:
        yield from (invalid_value(f"{path}.{each}", claim[each], text) for text in dns_subdomain(claim[each]))


def validate_claim_references(path: str, claims: Sequence[Object], known: Sequence[str]) -> Errors:
    """The errors of the claims that the resources of a container name, of those that the pod has."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            yield required(at)
            continue
        yield from _repeated(at, name, claim.get("request") or "", seen)
        if name not in known:
            listed = f": {', '.join(known)}" if known else " which is empty"
            yield missing(at, name, f"must be one of the names in pod.spec.resourceClaims{listed}")


def _repeated(path: str, name: str, request: str, seen: set[str]) -> Errors:
    """A claim, or a request of one, that is named twice."""
    if name in seen:
        yield duplicate(path, name)
        return
    if request:
        yield from (invalid_value(f"{path}.request", request, text) for text in dns_label(request))
    key = f"{name}/{request}" if request else name
    if key in seen:
        yield duplicate(path, key)
    elif not request:
        yield from (duplicate(path, name) for each in seen if each.startswith(f"{name}/"))
    seen.add(key)


_HUGE: Final = "hugepages-"
_COMPUTE: Final = frozenset({"cpu", "memory"})


NameCheck = Callable[[ServedBehaviour, str, str], Errors]


def validate_resource(
    behaviour: ServedBehaviour,
    path: str,
    resources: Object,
    *,
    claims: Sequence[str] = (),
    name_check: NameCheck = validate_container_resource_name,
) -> Errors:
    """The errors of the ``resources`` of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        yield from _validate_amount(behaviour, f"{path}.limits[{name}]", name, amount, name_check)
    for name, amount in requests.items():
        yield from name_check(behaviour, f"{path}.requests[{name}]", name)
        yield from validate_resource_quantity(behaviour, f"{path}.requests[{name}]", name, amount)
        yield from _compared(behaviour, path, name, amount, limits)
        yield from _validate_page(f"{path}.requests[{name}]", name, amount)
    named = limits.keys() | requests.keys()
    if any(name.startswith(_HUGE) for name in named) and not named & _COMPUTE:
        yield forbidden_field(path, "HugePages require cpu or memory")
    if resources.get("claims"):
        yield from validate_claim_references(f"{path}.claims", resources["claims"], claims)


def _validate_amount(behaviour: ServedBehaviour, path: str, name: str, amount: str, name_check: NameCheck) -> Errors:
    yield from name_check(behaviour, path, name)
    yield from validate_resource_quantity(behaviour, path, name, amount)
    yield from _validate_page(path, name, amount)


def _compared(behaviour: ServedBehaviour, path: str, name: str, amount: str, limits: Mapping[str, str]) -> Errors:
    """The errors of a request above its limit, or different from it for resources without overcommit."""
    shared = is_native(name) and not name.startswith(_HUGE)
    limit = limits.get(name)
    if limit is None:
        if not shared:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    difference = parse(amount).nano - parse(limit).nano
    if difference and not shared:
        yield invalid_value(
            f"{path}.requests", canonical(amount), f"must be equal to {_shown_limit(behaviour, name, limit)}"
        )
    elif difference > 0:
        text = f"must be less than or equal to {_shown_limit(behaviour, name, limit)}"
        yield invalid_value(f"{path}.requests", canonical(amount), text)


def _shown_limit(behaviour: ServedBehaviour, name: str, limit: str) -> str:
    return f"{name} limit of {canonical(limit)}" if behaviour.applies("limits-told-with-requests") else f"{name} limit"


def _validate_page(path: str, name: str, amount: str) -> Errors:
    if not name.startswith(_HUGE):
        return
    try:
        size = parse(name.removeprefix(_HUGE)).whole
    except QuantityError:
        size = 0
    if size <= 0 or parse(amount).whole % size:
        text = f"{canonical(amount)} is not positive integer multiple of {name}"
        yield invalid_value(path, canonical(amount), text)


def validate_overhead(behaviour: ServedBehaviour, path: str, overhead: Mapping[str, str]) -> Errors:
    """The errors of the overhead of a pod."""
    yield from validate_resource(behaviour, path, {"limits": overhead})


def validate_pod_resources(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    """The errors of the ``resources`` of a pod spec."""
    resources, here = spec["resources"], f"{path}.resources"
    if at(spec, "os", "name") == "windows":
        yield forbidden_field(here, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield forbidden_field(f"{here}.claims", "claims may not be set for Resources at pod-level")
    yield from validate_resource(behaviour, here, resources, name_check=_validate_name)
    yield from _validate_sums(here, spec)
    yield from _validate_limits(here, spec)


def _validate_name(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    wrong = list(validate_resource_name(behaviour, path, name))
    yield from wrong
    if not wrong and not is_pod_resource(name):
        yield unsupported(path, name, SUPPORTED)


def _validate_sums(path: str, spec: Object) -> Errors:
    """Containers together may not ask for more than the pod."""
    inner = {"spec": {**spec, "resources": None}}
    for field, sums in (("requests", pod_requests(inner)), ("limits", pod_limits(inner))):
        own = resource_list_of(spec["resources"].get(field))
        for name, amount in sums.items():
            if name in own and amount.nano > own[name].nano and (field == "requests" or name.startswith(HUGE)):
                text = f"must be greater than or equal to aggregate container {field} of {amount}"
                yield invalid_value(f"{path}.{field}[{name}]", str(own[name]), text)


def _validate_limits(path: str, spec: Object) -> Errors:
    own = resource_list_of(spec["resources"].get("limits"))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in resource_list_of(at(container, "resources", "limits")).items():
            if name in own and amount.nano > own[name].nano:
                text = f"must be less than or equal to pod limits of {own[name]}"
                yield invalid_value(f"{path}.containers[{index}][{name}].limits", str(amount), text)
