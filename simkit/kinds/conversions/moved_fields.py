"""Conversions of kinds whose older versions have some fields under other names or in other places, or other defaults.

Follows ``conversion.go``, ``zz_generated.conversion.go`` and ``defaults.go`` of each version in ``pkg/apis``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.kinds.conversions.family import (
    SAME_FIELDS,
    Family,
    Spoke,
    annotate,
    default,
    entries,
    peek,
    rename,
    section,
    take_annotation,
)
from simkit.kinds.parts.event import OLDER
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import API_DOMAIN, AUTHORIZATION_GROUP, EVENTS_GROUP, RBAC_GROUP, api_group, label
from simkit.meta.objects import Draft, annotations_of


def _renamed(*place: str, **names: str) -> Spoke:
    """The version in which the fields of a part have other names than in the hub, which they stand before.

    The name of the other version means nothing: such a field is dropped.
    """

    def renaming(names: Mapping[str, str]) -> Callable[[Draft], None]:
        def step(draft: Draft) -> None:
            part = peek(draft, *place)
            values = {new: part.pop(old) for old, new in names.items() if old in part}
            for new in names.values():
                part.pop(new, None)
            part |= values

        return step

    to_hub, from_hub = renaming(names), renaming({new: old for old, new in names.items()})
    return Spoke(to_hub, lambda _, draft: from_hub(draft))


def _hoist(part: Draft, name: str) -> None:
    """Move the fields of an inner part into the part itself."""
    part.update(part.pop(name, None) or {})


def _versions(kind: str, group: str, spokes: Mapping[str, Spoke]) -> Family:
    """The family of a kind in one group, whose hub is v1."""
    return Family(kind, f"{group}/v1", {f"{group}/{version}": spoke for version, spoke in spokes.items()})


# Slices of endpoints: zone and node became fields of an endpoint; the rest of the topology map is read-only

_HOSTNAME: Final = label("hostname")
_ZONE: Final = label("zone", "topology")


def _endpoints_to_hub(draft: Draft) -> None:
    for endpoint in entries(draft, "endpoints"):
        topology = endpoint.pop("topology", None) or {}
        zone = topology.pop(_ZONE, None)
        if zone is not None:
            endpoint["zone"] = zone
        if topology.get(_HOSTNAME, "") == endpoint.get("nodeName"):
            del topology[_HOSTNAME]
        if topology:
            endpoint["deprecatedTopology"] = topology


def _endpoints_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    for endpoint in entries(draft, "endpoints"):
        rename(endpoint, "deprecatedTopology", "topology")
        topology = endpoint.get("topology") or {}
        if endpoint.get("nodeName") is not None:
            topology.setdefault(_HOSTNAME, endpoint["nodeName"])
        zone = endpoint.pop("zone", None)
        if zone is not None:
            topology[_ZONE] = zone
        if topology:
            endpoint["topology"] = topology


# Ingresses: backends became structures, the default backend got another name


def _paths(draft: Draft) -> Iterator[Draft]:
    for rule in entries(peek(draft, "spec"), "rules"):
        yield from entries(peek(rule, "http"), "paths")


def _default_paths(draft: Draft) -> None:
    for path in _paths(draft):
        default(path, "pathType", "ImplementationSpecific")


def _change_backends(draft: Draft, name: str, change: Callable[[Draft], None]) -> None:
    """Change the default backend, under ``name``, and those of all paths."""
    backend = peek(draft, "spec").get(name)
    if isinstance(backend, dict):
        change(backend)
    for path in _paths(draft):
        change(section(path, "backend"))


def _to_service(backend: Draft) -> None:
    name, port = backend.pop("serviceName", None), backend.pop("servicePort", None)
    if not name and port in (None, 0, ""):
        return
    service = backend["service"] = {"name": name or ""}
    if isinstance(port, str) and port:
        service["port"] = {"name": port}
    else:
        service["port"] = {"number": port} if port else {}


def _from_service(backend: Draft) -> None:
    service = backend.pop("service", None) or {}
    if service.get("name"):
        backend["serviceName"] = service["name"]
    port = peek(service, "port")
    backend["servicePort"] = port.get("name") or port.get("number") or 0


def _ingress_to_hub(draft: Draft) -> None:
    _change_backends(draft, "backend", _to_service)
    rename(peek(draft, "spec"), "backend", "defaultBackend")


def _ingress_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    rename(peek(draft, "spec"), "defaultBackend", "backend")
    _change_backends(draft, "backend", _from_service)


# Policies: an empty selector of a budget selects nothing in v1beta1 and everything in v1

_MARK: Final = label("deprecated-v1beta1-empty-selector-match", "pdb")
"""A label that no pod has: its presence selects nothing, its absence everything."""


def _is_empty(selector: Draft) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def _unmarked(selector: Draft) -> bool:
    """Remove the marker from the expressions; True if it was required to exist."""
    found = selector.get("matchExpressions") or []
    expressions = [each for each in found if each.get("key") != _MARK]
    if len(expressions) == len(found):
        return False
    selector["matchExpressions"] = expressions
    if not expressions:
        del selector["matchExpressions"]
    return any(each.get("key") == _MARK and each.get("operator") == "Exists" for each in found)


def _budget_to_hub(draft: Draft) -> None:
    selector = peek(draft, "spec").get("selector")
    if isinstance(selector, dict) and (_is_empty(selector) or _unmarked(selector)) and _is_empty(selector):
        selector["matchExpressions"] = [{"key": _MARK, "operator": "Exists"}]


def _budget_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    selector = peek(draft, "spec").get("selector")
    if isinstance(selector, dict) and not _unmarked(selector) and _is_empty(selector):
        selector["matchExpressions"] = [{"key": _MARK, "operator": "DoesNotExist"}]


def _default_policy_types(draft: Draft) -> None:
    spec = section(draft, "spec")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


# Priority levels: shares got another name, and only v1 distinguishes zero from missing shares

KEEP_ZERO: Final = f"flowcontrol.{API_DOMAIN}/v1beta3-preserve-zero-concurrency-shares"
"""The annotation of v1beta3 for intended zero shares."""
_DEFAULT_SHARES: Final = 30
_SHARES: Final = "nominalConcurrencyShares"


def _default_old_shares(draft: Draft) -> None:
    limited = peek(draft, "spec").get("limited")
    if isinstance(limited, dict) and not limited.get("assuredConcurrencyShares"):
        limited["assuredConcurrencyShares"] = _DEFAULT_SHARES


def _default_shares(draft: Draft) -> None:
    limited = peek(draft, "spec").get("limited")
    if isinstance(limited, dict) and not limited.get(_SHARES):
        limited[_SHARES] = 0 if KEEP_ZERO in annotations_of(draft) else _DEFAULT_SHARES


def _shares_to_hub(draft: Draft) -> None:
    take_annotation(draft, KEEP_ZERO)


def _shares_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    if peek(draft, "spec", "limited").get(_SHARES) == 0:
        annotate(draft, KEEP_ZERO, "")


_renamed_shares: Final = _renamed("spec", "limited", assuredConcurrencyShares=_SHARES)
_OLD_LEVEL: Final = Spoke(_renamed_shares.to_hub, _renamed_shares.from_hub, _default_old_shares)


# Devices: v1beta1 has the request itself, later versions have it under ``exactly``; a device's contents under ``basic``

EXACT: Final = (
    *("deviceClassName", "selectors", "allocationMode", "count", "adminAccess"),
    *("tolerations", "capacity", "derivedAttributes"),
)
"""The fields of a v1beta1 request that later versions have under ``exactly``."""


def _requesting(*place: str) -> Spoke:
    """The older version of a kind with requests for devices in the spec at a place."""

    def to_hub(draft: Draft) -> None:
        for request in entries(peek(draft, *place, "devices"), "requests"):
            exactly = {name: request.pop(name) for name in EXACT if name in request}
            if exactly:
                request["exactly"] = exactly

    def from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
        for request in entries(peek(draft, *place, "devices"), "requests"):
            _hoist(request, "exactly")

    return Spoke(to_hub, from_hub)


def _slice_to_hub(draft: Draft) -> None:
    for device in entries(peek(draft, "spec"), "devices"):
        _hoist(device, "basic")


def _slice_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    for device in entries(peek(draft, "spec"), "devices"):
        device["basic"] = {name: device.pop(name) for name in list(device) if name != "name"}


def _devices(kind: str, older: Spoke) -> Family:
    return _versions(kind, api_group("resource"), {"v1alpha3": older, "v1beta1": older, "v1beta2": SAME_FIELDS})


# Bindings: v1alpha1 has a subject's version instead of its group, and a user for everybody

_NAMES: Final = ("User", "Group")


def _subjects_to_hub(draft: Draft) -> None:
    for subject in entries(draft, "subjects"):
        version = subject.pop("apiVersion", "") or ""
        if subject.get("kind") == "User" and subject.get("name") == "*":
            subject |= {"kind": "Group", "name": "system:authenticated"}
        if subject.get("kind") in _NAMES:
            subject["apiGroup"] = RBAC_GROUP
        elif "/" in version:
            subject["apiGroup"] = version.partition("/")[0]


def _subjects_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    for subject in entries(draft, "subjects"):
        group = subject.pop("apiGroup", "") or ""
        if subject.get("kind") in _NAMES:
            subject["apiVersion"] = f"{RBAC_GROUP}/v1alpha1"
        elif subject.get("kind") == "ServiceAccount":
            subject["apiVersion"] = "v1"
        elif group:
            subject["apiVersion"] = f"{group}/"


# Runtime classes: v1alpha1 has a spec with the fields that later versions have at the top


def _runtime_to_hub(draft: Draft) -> None:
    spec = draft.pop("spec", None) or {}
    draft["handler"] = spec.pop("runtimeHandler", "")
    draft.update(spec)


def _runtime_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    names = [name for name in ("overhead", "scheduling") if name in draft]
    draft["spec"] = {"runtimeHandler": draft.pop("handler", ""), **{name: draft.pop(name) for name in names}}


# Scales: the selector was a map with a text beside it, later only a text


def _scale_to_hub(draft: Draft) -> None:
    status = peek(draft, "status")
    labels = status.pop("selector", None) or {}
    text = status.pop("targetSelector", "") or ",".join(f"{key}={labels[key]}" for key in sorted(labels))
    if text:
        status["selector"] = text


def _scale_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    status = peek(draft, "status")
    rename(status, "selector", "targetSelector")
    labels = _as_map(status.get("targetSelector") or "")
    if labels:
        status["selector"] = labels


def _as_map(text: str) -> dict[str, str]:
    """The labels of a selector that only requires single values."""
    pairs = [part.strip().replace("==", "=").split("=") for part in text.split(",") if part.strip()]
    if any(len(pair) != 2 or "!" in pair[0] or " " in pair[0].strip() for pair in pairs):
        return {}
    return {key.strip(): value.strip() for key, value in pairs}


# Webhooks: the same fields, other defaults; those of v1 are Fail, Equivalent and 10, and it requires sideEffects


def _default_webhooks(draft: Draft) -> None:
    for webhook in entries(draft, "webhooks"):
        default(webhook, "failurePolicy", "Ignore")
        default(webhook, "matchPolicy", "Exact")
        default(webhook, "timeoutSeconds", 30)
        default(webhook, "sideEffects", "Unknown")
        if not webhook.get("admissionReviewVersions"):
            webhook["admissionReviewVersions"] = ["v1beta1"]


_NETWORKING: Final = api_group("networking")
_WEBHOOKS: Final = {"v1beta1": Spoke(default=_default_webhooks)}
_BINDINGS: Final = {"v1alpha1": Spoke(_subjects_to_hub, _subjects_from_hub), "v1beta1": SAME_FIELDS}
_REVIEWS: Final = {"v1beta1": _renamed("spec", group="groups")}
_OLD_INGRESS: Final = Spoke(_ingress_to_hub, _ingress_from_hub, _default_paths)
_OLD_SCALE: Final = Spoke(_scale_to_hub, _scale_from_hub)
_EVENTS: Final = (f"{EVENTS_GROUP}/v1", f"{EVENTS_GROUP}/v1beta1")
_EVERY: Final = (
    _versions("ClusterRoleBinding", RBAC_GROUP, _BINDINGS),
    _devices("DeviceClass", SAME_FIELDS),
    _versions(
        "EndpointSlice",
        api_group("discovery"),
        {"v1beta1": Spoke(_endpoints_to_hub, _endpoints_from_hub), "v1alpha1": SAME_FIELDS},
    ),
    Family("Event", "v1", dict.fromkeys(_EVENTS, _renamed(**OLDER))),
    Family(
        "Ingress",
        f"{_NETWORKING}/v1",
        {"extensions/v1beta1": _OLD_INGRESS, f"{_NETWORKING}/v1beta1": _OLD_INGRESS},
    ),
    _versions("IngressClass", _NETWORKING, {"v1beta1": Spoke(hub_defaults=False)}),
    _versions("LocalSubjectAccessReview", AUTHORIZATION_GROUP, _REVIEWS),
    _versions("MutatingWebhookConfiguration", api_group("admissionregistration"), _WEBHOOKS),
    Family(
        "NetworkPolicy",
        f"{_NETWORKING}/v1",
        {"extensions/v1beta1": Spoke(default=_default_policy_types, hub_defaults=False)},
    ),
    _versions("PodDisruptionBudget", "policy", {"v1beta1": Spoke(_budget_to_hub, _budget_from_hub)}),
    _versions(
        "PriorityLevelConfiguration",
        api_group("flowcontrol.apiserver"),
        {
            **dict.fromkeys(("v1alpha1", "v1beta1", "v1beta2"), _OLD_LEVEL),
            "v1beta3": Spoke(_shares_to_hub, _shares_from_hub, _default_shares),
        },
    ),
    _devices("ResourceClaim", _requesting("spec")),
    _devices("ResourceClaimTemplate", _requesting("spec", "spec")),
    _devices("ResourceSlice", Spoke(_slice_to_hub, _slice_from_hub)),
    _versions("RoleBinding", RBAC_GROUP, _BINDINGS),
    _versions(
        "RuntimeClass",
        api_group("node"),
        {"v1alpha1": Spoke(_runtime_to_hub, _runtime_from_hub), "v1beta1": SAME_FIELDS},
    ),
    Family(
        "Scale", "autoscaling/v1", dict.fromkeys(("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"), _OLD_SCALE)
    ),
    _versions("SubjectAccessReview", AUTHORIZATION_GROUP, _REVIEWS),
    _versions("ValidatingWebhookConfiguration", api_group("admissionregistration"), _WEBHOOKS),
)
FAMILIES: Final = {family.kind: family for family in _EVERY}
