"""The IP families of a Service, from its spec and the ranges of the cluster.

Upstream: pkg/registry/core/service/storage/alloc.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from simkit.kinds.parts.service.cluster_ips import EXTERNAL_NAME, HEADLESS, strings, type_of, validate_address_field
from simkit.kinds.parts.validation.ip import Address, address, family
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, Shown, invalid_value
from simkit.meta.objects import Draft, Object, at

_SINGLE, _REQUIRE, _PREFER = "SingleStack", "RequireDualStack", "PreferDualStack"
_OTHER: Final = {"IPv4": "IPv6", "IPv6": "IPv4"}
_SECONDARY: Final = {"clusterIPs": "cluster IP", "ipFamilies": "IP family"}
_SEVERAL: Final = {"clusterIPs": "cluster IPs", "ipFamilies": "IP families"}


def settle_families(
    behaviour: ServedBehaviour, draft: Draft, live: Object | None, configured: Sequence[str]
) -> Sequence[FieldError]:
    """Set ``ipFamilyPolicy`` and ``ipFamilies``; returns the errors. The draft owns its ``spec``.

    ``configured`` are the families of the cluster, the default one first.
    """
    if type_of(draft) == EXTERNAL_NAME or _prefers_as_before(draft, live):
        return ()
    spec = draft["spec"]
    free = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        before = at(live, "spec", "ipFamilyPolicy") if live is not None else None
        spec["ipFamilyPolicy"] = before or (_REQUIRE if free else _SINGLE)
    errors = validate_address_field(behaviour, draft)
    if errors:
        return errors
    reduced = _downgrade(spec, live.get("spec") or {}) if live is not None else ()
    errors = [*reduced, *_single_errors(spec), *_infer_families(spec, configured)]
    if errors:
        return errors
    if free:
        _settle_headless(spec, configured)
        return ()
    errors = _cluster_errors(behaviour, spec, configured)
    if not errors:
        _settle_plain(spec, configured)
    return errors


def _prefers_as_before(draft: Draft, live: Object | None) -> bool:
    """True if nothing about families changes in a Service that prefers two: the cluster may have changed since."""
    if live is None:
        return False
    names = ("ipFamilyPolicy", "clusterIP", "clusterIPs", "ipFamilies")
    return draft["spec"].get("ipFamilyPolicy") == _PREFER and all(
        draft["spec"].get(name) == at(live, "spec", name) for name in names
    )


def _downgrade(spec: Draft, old: Object) -> Sequence[FieldError]:
    """Release the secondary address of a Service that goes back to one family; the errors of one that does not."""
    errors = []
    for name, words in _SECONDARY.items():
        given, before, policy = spec.get(name) or (), old.get(name) or (), spec["ipFamilyPolicy"]
        if policy == _SINGLE and len(given) > 1 and given == before:
            spec[name] = given[:1]
        elif policy != _SINGLE and 0 < len(given) < len(before):
            text = f"must be 'SingleStack' to release the secondary {words}"
            errors.append(invalid_value("spec.ipFamilyPolicy", policy, text))
    return errors


def _single_errors(spec: Object) -> list[FieldError]:
    if spec.get("ipFamilyPolicy") != _SINGLE:
        return []
    text = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    two = [words for name, words in _SEVERAL.items() if len(spec.get(name) or ()) == 2]
    return [invalid_value("spec.ipFamilyPolicy", _SINGLE, text.format(words)) for words in two]


def _infer_families(spec: Draft, configured: Sequence[str]) -> list[FieldError]:
    """Set the families of the given addresses."""
    given, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or [])
    errors: list[FieldError] = []
    for index, text in enumerate(given):
        if text == HEADLESS:
            break
        if index < len(families):
            continue
        name = family(text)
        if name in configured:
            families.append(name)
        else:
            shown = strings(given)
            errors.append(
                invalid_value(f"spec.clusterIPs[{index}]", shown, f"{name} is not configured on this cluster")
            )
    if families:
        spec["ipFamilies"] = families
    return errors


def _settle_headless(spec: Draft, configured: Sequence[str]) -> None:
    """Allow both families for a headless Service without selector, whatever the cluster has."""
    families = list(spec.get("ipFamilies") or configured[:1])
    if len(families) < 2 and spec["ipFamilyPolicy"] != _SINGLE:
        families.append(_OTHER[families[0]])
    spec["ipFamilies"] = families


def _cluster_errors(behaviour: ServedBehaviour, spec: Object, configured: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("ipFamilyPolicy") == _REQUIRE and len(configured) < 2:
        text = "this cluster is not configured for dual-stack services"
        if not behaviour.applies("services-kept-by-the-store"):
            text = "Cluster is not configured for dual stack services"
        errors.append(invalid_value("spec.ipFamilyPolicy", _REQUIRE, text))
    for index, name in enumerate(spec.get("ipFamilies") or ()):
        if name not in configured:
            where = f"spec.ipFamilies[{index}]"
            if behaviour.applies("services-kept-by-the-store"):
                errors.append(invalid_value(where, name, "not configured on this cluster"))
            else:
                shown, text = Shown("[]string(nil)"), f"ipfamily {name} is not configured on cluster"
                errors.append(invalid_value(where, shown, text))
    return errors


def _settle_plain(spec: Draft, configured: Sequence[str]) -> None:
    families = list(spec.get("ipFamilies") or configured[:1])
    if spec["ipFamilyPolicy"] != _SINGLE and len(families) == 1 and len(configured) == 2:
        families.append(_OTHER[families[0]])
    spec["ipFamilies"] = families


def addresses_of(service: Object) -> Sequence[str]:
    """The cluster addresses of a Service, in the form of their objects' names."""
    spec = service.get("spec") or {}
    texts: Sequence[str] = spec.get("clusterIPs") or [spec.get("clusterIP") or ""]
    return [str(found) for text in texts if (found := address(text)) is not None]


def as_address(number: int, name: str) -> Address:
    """The address with a number, of a family."""
    return IPv6Address(number) if name == "IPv6" else IPv4Address(number)
