"""A pod as a pod security policy would have it, and the errors of a pod under a policy.

Upstream: pkg/security/podsecuritypolicy/provider.go, release 1.24.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import texts
from simkit.logic.podsecuritypolicy import identifiers, profiles
from simkit.logic.podsecuritypolicy.volumes import volume_problems
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, quoted
from simkit.meta.objects import Object, annotations_of, at, with_metadata
from simkit.meta.podspec import CONTAINER_LISTS

_ALL: Final = "*"
_HOST: Final = (("hostNetwork", "Host network"), ("hostPID", "Host PID"), ("hostIPC", "Host IPC"))
_SAFE_SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
)
_PORT_SYSCTL: Final = "net.ipv4.ip_unprivileged_port_start"


def is_usable(policy: Object) -> bool:
    """False for a policy that has a rule without the values which the rule needs: it takes no part in admission."""
    return not identifiers.lacks_ranges(policy.get("spec") or {})


def defaulted(policy: Object, pod: Object) -> Object:
    """The pod with what it leaves open set as the policy says; the same object if nothing is to be set."""
    rules, spec = policy.get("spec") or {}, pod.get("spec") or {}
    context = _pod_context(rules, spec.get("securityContext") or {})
    notes: Mapping[str, str] = annotations_of(pod)
    seccomp = profiles.default_seccomp(policy, pod)
    if seccomp:
        notes = {**notes, profiles.SECCOMP_POD: seccomp}
    changed: dict[str, Any] = {"securityContext": context}
    default_class = (rules.get("runtimeClass") or {}).get("defaultRuntimeClassName")
    if spec.get("runtimeClassName") is None and default_class is not None:
        changed["runtimeClassName"] = default_class
    for field in CONTAINER_LISTS:
        if spec.get(field):
            changed[field] = [_container(rules, context, each) for each in spec[field]]
        for each in spec.get(field) or ():
            notes = profiles.with_default_app_armor(policy, notes, each["name"])
    if context == (spec.get("securityContext") or {}):
        del changed["securityContext"]
    if all(spec.get(name) == value for name, value in changed.items()) and notes == annotations_of(pod):
        return pod
    made = {**pod, "spec": {**spec, **changed}}
    return with_metadata(made, annotations=dict(notes)) if notes else made


def _pod_context(rules: Object, given: Object) -> Object:
    context = dict(given)
    group = identifiers.first_of(rules.get("supplementalGroups"))
    if context.get("supplementalGroups") is None and group is not None:
        context["supplementalGroups"] = [group]
    group = identifiers.first_of(rules.get("fsGroup"))
    if context.get("fsGroup") is None and group is not None:
        context["fsGroup"] = group
    labels = rules.get("seLinux") or {}
    if context.get("seLinuxOptions") is None and labels.get("rule") == identifiers.MUST_RUN_AS:
        context["seLinuxOptions"] = dict(labels["seLinuxOptions"])
    return context


def _container(rules: Object, pod_context: Object, container: Object) -> Object:
    """The container with its security context filled; what the pod says for all its containers is not repeated."""
    given = container.get("securityContext") or {}
    context, wanted = dict(given), dict(_wanted(rules, {**pod_context, **given}))
    context.update(wanted)
    capabilities = _capabilities(rules, given.get("capabilities"))
    if capabilities != given.get("capabilities"):
        context["capabilities"] = capabilities
    return container if context == given else {**container, "securityContext": context}


def _wanted(rules: Object, effective: Object) -> Iterator[tuple[str, Any]]:
    """Fields of a container's context that neither it nor its pod has."""
    user = effective.get("runAsUser")
    if user is None:
        user = identifiers.first_of(rules.get("runAsUser"))
        if user is not None:
            yield "runAsUser", user
    group = identifiers.first_of(rules.get("runAsGroup"))
    if effective.get("runAsGroup") is None and group is not None:
        yield "runAsGroup", group
    rule = (rules.get("runAsUser") or {}).get("rule")
    if effective.get("runAsNonRoot") is None and user is None and rule == identifiers.NON_ROOT:
        yield "runAsNonRoot", True
    if rules.get("readOnlyRootFilesystem") and effective.get("readOnlyRootFilesystem") is None:
        yield "readOnlyRootFilesystem", True
    if effective.get("allowPrivilegeEscalation") is None:
        default = rules.get("defaultAllowPrivilegeEscalation")
        if default is not None:
            yield "allowPrivilegeEscalation", default
        elif not _may_escalate(rules):
            yield "allowPrivilegeEscalation", False


def _may_escalate(rules: Object) -> bool:
    return bool(rules.get("allowPrivilegeEscalation", True))


def _capabilities(rules: Object, given: Object | None) -> Object | None:
    """The capabilities of a container with those that are added by default and those that must be dropped."""
    add, drop = set((given or {}).get("add") or ()), set((given or {}).get("drop") or ())
    more = add | (set(rules.get("defaultAddCapabilities") or ()) - drop)
    fewer = drop | set(rules.get("requiredDropCapabilities") or ())
    if len(more) == len(add) and len(fewer) == len(drop):
        return given
    made = {"add": sorted(more), "drop": sorted(fewer)}
    return {name: each for name, each in made.items() if each}


def problems(behaviour: ServedBehaviour, policy: Object, pod: Object) -> list[FieldError]:
    """The errors of a pod under a policy, in the order of kube-apiserver."""
    return [*_pod_problems(behaviour, policy, pod), *_containers_problems(behaviour, policy, pod)]


def _pod_problems(behaviour: ServedBehaviour, policy: Object, pod: Object) -> Iterator[FieldError]:
    rules, spec = policy.get("spec") or {}, pod.get("spec") or {}
    context, path = spec.get("securityContext") or {}, "spec.securityContext"
    own = [] if context.get("fsGroup") is None else [context["fsGroup"]]
    yield from identifiers.group_problems(f"{path}.fsGroup", rules.get("fsGroup"), own)
    more = context.get("supplementalGroups") or ()
    yield from identifiers.group_problems(f"{path}.supplementalGroups", rules.get("supplementalGroups"), more)
    yield from profiles.pod_seccomp_problems(behaviour, policy, pod)
    labels = context.get("seLinuxOptions")
    yield from identifiers.label_problems(f"{path}.seLinuxOptions", rules.get("seLinux") or {}, labels)
    for name, word in _HOST:
        if spec.get(name) and not rules.get(name):
            yield invalid_value(f"{path}.{name}", True, f"{word} is not allowed to be used")
    yield from _sysctl_problems(behaviour, rules, context)
    yield from volume_problems(behaviour, rules, spec)
    named, allowed = spec.get("runtimeClassName"), rules.get("runtimeClass")
    if allowed is not None and named is not None:
        names = allowed.get("allowedRuntimeClassNames") or ()
        if _ALL not in names and named not in names:
            yield invalid_value("spec.runtimeClassName", named, "")


def _sysctl_problems(behaviour: ServedBehaviour, rules: Object, context: Object) -> Iterator[FieldError]:
    safe = (*_SAFE_SYSCTLS, _PORT_SYSCTL) if behaviour.applies("unprivileged-ports-are-safe-sysctl") else _SAFE_SYSCTLS
    for index, each in enumerate(context.get("sysctls") or ()):
        path, name = f"pod.spec.securityContext.sysctls[{index}]", each.get("name") or ""
        if _matches(name, rules.get("forbiddenSysctls") or ()):
            yield forbidden_field(path, f"sysctl {quoted(name)} is not allowed")
        elif name not in safe and not _matches(name, rules.get("allowedUnsafeSysctls") or ()):
            yield forbidden_field(path, f"unsafe sysctl {quoted(name)} is not allowed")


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith(_ALL) else name == each for each in patterns)


def _containers_problems(behaviour: ServedBehaviour, policy: Object, pod: Object) -> Iterator[FieldError]:
    spec = pod.get("spec") or {}
    for field in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(field) or ()):
            yield from _container_problems(behaviour, policy, pod, container, f"spec.{field}[{index}]")


def _container_problems(
    behaviour: ServedBehaviour, policy: Object, pod: Object, container: Object, where: str
) -> Iterator[FieldError]:
    rules, path = policy.get("spec") or {}, f"{where}.securityContext"
    own = container.get("securityContext") or {}
    context = {**(at(pod, "spec", "securityContext") or {}), **own}
    user, group = context.get("runAsUser"), context.get("runAsGroup")
    yield from identifiers.user_problems(path, rules.get("runAsUser") or {}, context.get("runAsNonRoot"), user)
    yield from identifiers.group_problems(path, rules.get("runAsGroup"), [] if group is None else [group])
    labels = context.get("seLinuxOptions")
    yield from identifiers.label_problems(f"{path}.seLinuxOptions", rules.get("seLinux") or {}, labels)
    yield from profiles.app_armor_problems(policy, pod, container["name"])
    yield from profiles.container_seccomp_problems(behaviour, policy, pod, container)
    if own.get("privileged") and not rules.get("privileged"):
        yield invalid_value(f"{path}.privileged", True, "Privileged containers are not allowed")
    mount = own.get("procMount") or "Default"
    if mount not in (rules.get("allowedProcMountTypes") or ("Default",)):
        yield invalid_value(f"{path}.procMount", mount, "ProcMountType is not allowed")
    yield from _capability_problems(f"{path}.capabilities", rules, own.get("capabilities"))
    yield from _port_problems(where, rules, container)
    yield from _flag_problems(path, rules, own)


def _capability_problems(path: str, rules: Object, given: Object | None) -> Iterator[FieldError]:
    added, dropped = rules.get("defaultAddCapabilities") or (), rules.get("requiredDropCapabilities") or ()
    allowed = rules.get("allowedCapabilities") or ()
    if given is None:
        if added or dropped:
            yield invalid_value(path, None, "required capabilities are not set on the securityContext")
        return
    if _ALL in allowed:
        return
    for each in given.get("add") or ():
        if each not in added and each not in allowed:
            yield invalid_value(f"{path}.add", each, "capability may not be added")
    for each in dropped:
        if each not in (given.get("drop") or ()):
            shown = texts(given.get("drop"), "core.Capability")
            yield invalid_value(f"{path}.drop", shown, f"{each} is required to be dropped but was not found")


def _port_problems(where: str, rules: Object, container: Object) -> Iterator[FieldError]:
    ranges = [(each.get("min") or 0, each.get("max") or 0) for each in rules.get("hostPorts") or ()]
    told = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
    for each in container.get("ports") or ():
        port = each.get("hostPort") or 0
        if port > 0 and not any(low <= port <= high for low, high in ranges):
            detail = f"Host port {port} is not allowed to be used. Allowed ports: [{told}]"
            yield invalid_value(f"{where}.hostPort", port, detail)


def _flag_problems(path: str, rules: Object, own: Object) -> Iterator[FieldError]:
    if rules.get("readOnlyRootFilesystem"):
        read_only = own.get("readOnlyRootFilesystem")
        what = "ReadOnlyRootFilesystem may not be nil and must be set to true"
        if read_only is not True:
            text = what if read_only is None else "ReadOnlyRootFilesystem must be set to true"
            yield invalid_value(f"{path}.readOnlyRootFilesystem", read_only, text)
    escalates = own.get("allowPrivilegeEscalation")
    if escalates is not False and not _may_escalate(rules):
        text = "Allowing privilege escalation for containers is not allowed"
        yield invalid_value(f"{path}.allowPrivilegeEscalation", escalates, text)
