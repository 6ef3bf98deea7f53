"""Conversion between versions: explicit defaults, through the hub version, into the wanted version."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from simkit.kinds.conversions.family import SAME_FIELDS, ConversionError, Family, Spoke
from simkit.kinds.strategies import strategy_of
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupKind, GroupVersion
from simkit.meta.objects import Draft, Object, copied
from simkit.schema import lifecycle

_MODULES: Final = {
    "CertificateSigningRequest": "certificatesigningrequest",
    "CustomResourceDefinition": "customresourcedefinition",
    "HorizontalPodAutoscaler": "horizontalpodautoscaler",
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), "workloads"),
    **dict.fromkeys(
        (
            *("ClusterRoleBinding", "DeviceClass", "EndpointSlice", "Event", "Ingress", "IngressClass"),
            *("LocalSubjectAccessReview", "MutatingWebhookConfiguration", "NetworkPolicy", "PodDisruptionBudget"),
            *("PriorityLevelConfiguration", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "RoleBinding"),
            *("RuntimeClass", "Scale", "SubjectAccessReview", "ValidatingWebhookConfiguration"),
        ),
        "moved_fields",
    ),
}
"""Kinds whose versions differ in more than the name, with the module whose FAMILIES holds them."""


@cache
def family_of(api_version: str, kind: str) -> Family | None:
    """The family of a kind's version; None if it has no other version."""
    if kind in _MODULES:
        families: Mapping[str, Family] = import_module(f"simkit.kinds.conversions.{_MODULES[kind]}").FAMILIES
        found = families[kind]
        return found if found.spoke(api_version) is not None else None
    return _relabelled().get((api_version, kind))


def kept_in(hub: str, api_version: str, kind: str) -> Family | None:
    """The family of a version whose objects are stored in another one; None if that is not the family's hub."""
    family = family_of(api_version, kind)
    return family if family is not None and family.hub == hub else None


@cache
def _relabelled() -> Mapping[tuple[str, str], Family]:
    """Families of kinds whose versions have the same fields, which releases treat as one."""
    hubs: dict[tuple[str, str], set[str]] = {}
    for name, resource in lifecycle.every_resource():
        hub = resource.storage_gvk.api_version if resource.stored else _unstored_hub(resource.group_version)
        hubs.setdefault((hub, resource.kind), set()).add(name)
    found = {}
    for (hub, kind), versions in {**hubs, **_BODIES}.items():
        family = Family(kind, hub, {each: SAME_FIELDS for each in versions if each != hub})
        found.update({(each, kind): family for each in versions | {hub}})
    return found


_BODIES: Final[Mapping[tuple[str, str], set[str]]] = {("policy/v1", "Eviction"): {"policy/v1", "policy/v1beta1"}}
"""Kinds of subresources' bodies."""


def _unstored_hub(group_version: GroupVersion) -> str:
    """The stable version of a review, which is never stored."""
    return f"{group_version.group}/v1" if group_version.group else "v1"


def versions(api_version: str, kind: str) -> tuple[str, ...]:
    """All versions to which a kind in one version can be converted, itself included; the hub comes first.

    Examples
    --------
    >>> versions("extensions/v1beta1", "Ingress")
    ('networking.k8s.io/v1', 'extensions/v1beta1', 'networking.k8s.io/v1beta1')
    """
    family = family_of(api_version, kind)
    return (api_version,) if family is None else (family.hub, *sorted(family.spokes))


def convertible(kind: str, old: str, new: str) -> bool:
    """True if one version can be converted to another."""
    family = family_of(old, kind)
    return old == new or (family is not None and family.spoke(new) is not None)


def convert(obj: Object, to_api_version: str, behaviour: ServedBehaviour, *, defaults: bool = False) -> Object:
    """The object in another version; the argument does not change.

    Parameters
    ----------
    behaviour
        That of the server which converts it.
    defaults
        Whether to fill in all that the old version defaults, as a server does when it reads an object. Defaults that
        differ between the versions are filled in anyway, since leaving them out would change what the object means.

    Raises
    ------
    ConversionError
        Where no release converts the one into the other, or the object cannot be read.

    Examples
    --------
    >>> budget = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": {"selector": {}}}
    >>> convert(budget, "policy/v1", ServedBehaviour(30))["spec"]["selector"]["matchExpressions"][0]["operator"]
    'Exists'
    """
    old, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    family = family_of(old, kind)
    source, target = _forms(family, old, to_api_version, kind)
    draft: Draft = copied(obj)
    if family is None:
        return draft
    source.default(draft)
    source.to_hub(draft)
    if source.hub_defaults and (defaults or (old != to_api_version and target.has_own_defaults)):
        draft["apiVersion"] = family.hub
        strategy_of(_hub_kind(family)).default(behaviour, draft)
    target.from_hub(behaviour, draft)
    draft["apiVersion"] = to_api_version
    return draft


def defaulted(obj: Object, behaviour: ServedBehaviour) -> Object:
    """The object with all defaults of its own version set.

    For a version that is not the hub, values are taken through the hub and back.
    """
    return convert(obj, str(obj.get("apiVersion", "")), behaviour, defaults=True)


def _forms(family: Family | None, old: str, new: str, kind: str) -> tuple[Spoke, Spoke]:
    if family is None and old == new:
        return SAME_FIELDS, SAME_FIELDS
    source = family.spoke(old) if family else None
    target = family.spoke(new) if family else None
    if source is None or target is None:
        known = ", ".join(versions(old, kind))
        raise ConversionError(f"no release converts {old!r} {kind} to {new!r}; known for it: {known}")
    return source, target


def _hub_kind(family: Family) -> GroupKind:
    return GroupKind(GroupVersion.parse(family.hub).group, family.kind)
