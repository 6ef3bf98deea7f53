"""The checks of the level ``restricted``, which follows hardening practices.

k8s.io/pod-security-admission/policy, check_*.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.logic.podsecurity.baseline import seccomp as seccomp_of_baseline
from simkit.logic.podsecurity.policy import Check, Violation, offenders, plural, quoted, security, setters, who
from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of

VOLUMES: Final = frozenset(
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"]
)


def linux_only(check: Check) -> Check:
    """The check applied only to pods that do not specify Windows, as newer releases do."""

    def checked(metadata: Object, spec: Object) -> Violation | None:
        return None if at(spec, "os", "name") == "windows" else check(metadata, spec)

    return checked


def privilege_escalation(metadata: Object, spec: Object) -> Violation | None:
    """The check that every container sets allowPrivilegeEscalation to false."""
    bad = [each["name"] for each in containers_of(spec) if security(each, "allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    detail = f"{who(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def capabilities(metadata: Object, spec: Object) -> Violation | None:
    """The check that all capabilities are dropped; only NET_BIND_SERVICE may be added."""
    containers = containers_of(spec)
    keeping = [one["name"] for one in containers if "ALL" not in (security(one, "capabilities", "drop") or ())]
    adding, added = offenders(spec, lambda one: set(security(one, "capabilities", "add") or ()) - {"NET_BIND_SERVICE"})
    told = [f'{who(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        told.append(f"{who(adding)} must not include {quoted(sorted(added))} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(told)) if told else None


def volumes(metadata: Object, spec: Object) -> Violation | None:
    """The check of volume types: none that reach the node."""
    return _of_types(VOLUMES, spec)


def volumes_with_images(metadata: Object, spec: Object) -> Violation | None:
    """The same check where images may be volumes."""
    return _of_types(VOLUMES | {"image"}, spec)


def _of_types(allowed: frozenset[str], spec: Object) -> Violation | None:
    bad: list[str] = []
    types: set[str] = set()
    for volume in spec.get("volumes") or ():
        if allowed.isdisjoint(volume):
            bad.append(volume["name"])
            types.add(next((name for name in volume if name != "name"), "unknown"))
    if not bad:
        return None
    verb, noun = plural(len(bad), "uses", "use"), plural(len(types), "restricted volume type")
    detail = f"{plural(len(bad), 'volume')} {quoted(bad)} {verb} {noun} {quoted(sorted(types))}"
    return Violation("restricted volume types", detail)


def non_root(metadata: Object, spec: Object) -> Violation | None:
    """The check that containers must run as non-root."""
    chosen = at(spec, "securityContext", "runAsNonRoot")
    said = {each["name"]: security(each, "runAsNonRoot") for each in containers_of(spec)}
    by = setters(chosen is False, [name for name, value in said.items() if value is False])
    if by:
        return Violation("runAsNonRoot != true", f"{by} must not set securityContext.runAsNonRoot=false")
    silent = [name for name, value in said.items() if value is None and not chosen]
    if not silent:
        return None
    return Violation("runAsNonRoot != true", f"pod or {who(silent)} must set securityContext.runAsNonRoot=true")


def non_root_user(metadata: Object, spec: Object) -> Violation | None:
    """The check that no container runs as user 0."""
    pod = at(spec, "securityContext", "runAsUser") == 0
    by = setters(pod, [each["name"] for each in containers_of(spec) if security(each, "runAsUser") == 0])
    return Violation("runAsUser=0", f"{by} must not set runAsUser=0") if by else None


def seccomp(metadata: Object, spec: Object) -> Violation | None:
    """The check that a seccomp profile is set by the pod or by every container."""
    forbidden = seccomp_of_baseline(metadata, spec)
    if forbidden is not None:
        return forbidden
    silent = [each["name"] for each in containers_of(spec) if security(each, "seccompProfile") is None]
    if not silent or at(spec, "securityContext", "seccompProfile") is not None:
        return None
    wanted = '"RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {who(silent)} must set securityContext.seccompProfile.type to {wanted}")
