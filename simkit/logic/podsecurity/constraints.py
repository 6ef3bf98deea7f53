"""Pods under a SecurityContextConstraints of OpenShift: the fields that it sets, and those that it refuses.

Upstream: github.com/openshift/apiserver-library-go, pkg/securitycontextconstraints/sccmatching, release 4.20.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from simkit.kinds.parts.pod.profiles import SECCOMP_CONTAINER, SECCOMP_POD, as_annotation, as_field
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, quoted, required
from simkit.meta.identity import Identity, service_account_groups, service_account_user
from simkit.meta.objects import Object, annotations_of, at, name_of, with_metadata
from simkit.meta.podspec import CONTAINER_LISTS
from simkit.snapshot.openshift import CONSTRAINTS

VALIDATED: Final = "openshift.io/scc"
REQUIRED: Final = "openshift.io/required-scc"
_USERS: Final = "openshift.io/sa.scc.uid-range"
_GROUPS: Final = "openshift.io/sa.scc.supplemental-groups"
_LEVEL: Final = "openshift.io/sa.scc.mcs"
UNALLOCATED: Final[Mapping[str, str]] = {_USERS: "1000000000/10000", _LEVEL: "s0:c1,c0"}
"""Stands for what a controller of OpenShift writes into every namespace: the first block of users, and a level."""
_BLOCK: Final = re.compile(r"\s*([0-9]{1,10})([/-])([0-9]{1,10})\s*")
_RUNTIME_DEFAULTS: Final = ("runtime/default", "docker/default")
_SAFE_SYSCTLS: Final = frozenset(
    (
        "kernel.shm_rmid_forced",
        *(f"net.ipv4.{name}" for name in ("ping_group_range", "ip_unprivileged_port_start")),
        *(f"net.ipv4.ip_local_{name}" for name in ("port_range", "reserved_ports")),
        *(f"net.ipv4.tcp_{name}" for name in ("syncookies", "fin_timeout", "rmem", "wmem")),
        *(f"net.ipv4.tcp_keepalive_{name}" for name in ("time", "intvl", "probes")),
    )
)
_VOLUMES: Final = {"cephfs": "cephFS", "vsphereVolume": "vsphere", "storageos": "storageOS"}
"""The names of types of volumes in constraints, where they are not those of the fields."""
_TRIVIAL_VOLUMES: Final = frozenset(("secret", "configMap", "emptyDir", "downwardAPI", "projected", "none"))
_LAXITY_OF_STRATEGIES: Final = {
    "RunAsAny": 40_000,
    "MustRunAsNonRoot": 30_000,
    "MustRunAsRange": 20_000,
    "MustRunAs": 10_000,
}
_TEXTS: Final = (
    *("users", "groups", "volumes", "seccompProfiles", "allowedUnsafeSysctls", "forbiddenSysctls"),
    *("allowedCapabilities", "defaultAddCapabilities", "requiredDropCapabilities"),
)
_STRATEGIES: Final = ("runAsUser", "seLinuxContext", "fsGroup", "supplementalGroups")
_NUMBERS: Final = ("uid", "uidRangeMin", "uidRangeMax", "min", "max")


def is_readable(constraint: Object) -> bool:
    """True if the fields of a constraint have their types, which a dump does not promise."""
    strategies = [constraint.get(name) or {} for name in _STRATEGIES]
    if not all(isinstance(one, Mapping) for one in strategies):
        return False
    ranges = [one.get("ranges") or [] for one in strategies]
    if not all(_is_list(some, Mapping) for some in [*ranges, constraint.get("allowedFlexVolumes") or []]):
        return False
    options = at(constraint, "seLinuxContext", "seLinuxOptions") or {}
    numbers = [one.get(name) or 0 for one in (*strategies, *chain.from_iterable(ranges)) for name in _NUMBERS]
    return (
        all(_is_list(constraint.get(name) or [], str) for name in _TEXTS)
        and all(isinstance(number, int) for number in (constraint.get("priority") or 0, *numbers))
        and isinstance(options, Mapping)
        and all(isinstance(text, str) for text in options.values())
    )


def _is_list(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def precedence(constraint: Object) -> tuple[int, int, str]:
    """The key by which constraints are tried: by priority, then the most restrictive one, then by name."""
    return -(constraint.get("priority") or 0), laxity(constraint), name_of(constraint)


def laxity(constraint: Object) -> int:
    """The points of a constraint; the more, the less it restricts."""
    volumes = set(constraint.get("volumes") or ())
    points = 1_600_000 * bool(constraint.get("allowPrivilegedContainer"))
    points += 800_000 * bool(constraint.get("allowHostPorts")) + 400_000 * bool(constraint.get("allowHostNetwork"))
    points += 200_000 if volumes & {"hostPath", "*"} else 100_000 * bool(volumes - _TRIVIAL_VOLUMES)
    points += sum(_LAXITY_OF_STRATEGIES.get(_strategy(constraint, of), 0) for of in ("seLinuxContext", "runAsUser"))
    return points + _laxity_of_capabilities(constraint)


def _laxity_of_capabilities(constraint: Object) -> int:
    allowed, dropped = (
        [str(name).upper() for name in constraint.get(of) or ()]
        for of in ("allowedCapabilities", "requiredDropCapabilities")
    )
    points = 5_000 + 300 * len(constraint.get("defaultAddCapabilities") or ())
    points += 4_000 if {"*", "ALL"} & set(allowed) else 10 * len(allowed)
    points -= 3_000 if "ALL" in dropped else 50 * len(dropped)
    return max(0, min(points, 9_999))


def _strategy(constraint: Object, of: str) -> str:
    return str(at(constraint, of, "type") or "")


def may_use(
    authorize: Callable[[Attributes], Decision], identity: Identity, namespace: str, constraint: Object
) -> bool:
    """True if a constraint names an identity or one of its groups, or a role allows to ``use`` it in a namespace."""
    if identity.user in (constraint.get("users") or ()):
        return True
    if not {*identity.groups}.isdisjoint(constraint.get("groups") or ()):
        return True
    group, resource = CONSTRAINTS
    ask = Attributes(identity, "use", group, "", resource, name=name_of(constraint), namespace=namespace)
    return authorize(ask).allowed


def account_identity(namespace: str, name: str) -> Identity:
    """A service account as constraints know it: without the group of all who are authenticated."""
    return Identity(service_account_user(namespace, name), service_account_groups(namespace))


def first_user(namespace: Object) -> int:
    """The first of the users that OpenShift has given to a namespace."""
    return _blocks({**UNALLOCATED, **annotations_of(namespace)}[_USERS])[0][0]


class Held(NamedTuple):
    """A pod with the fields that a constraint sets, and the errors of those that it refuses."""

    pod: Object
    errors: Sequence[FieldError]


def held(constraint: Object, namespace: Object, pod: Object) -> Held:
    """A pod under a constraint.

    Parameters
    ----------
    constraint
        The SecurityContextConstraints.
    namespace
        The namespace of the pod, whose annotations have the users, groups and the level that are its own.
    pod
        The pod.

    Examples
    --------
    >>> strategies = {"runAsUser": {"type": "MustRunAsRange"}, "seLinuxContext": {"type": "RunAsAny"}}
    >>> pod = {"metadata": {}, "spec": {"hostPID": True, "containers": [{"name": "a"}]}}
    >>> found = held({"metadata": {"name": "narrow"}, **strategies}, {}, pod)
    >>> found.pod["spec"]["containers"][0]["securityContext"]
    {'runAsUser': 1000000000, 'runAsNonRoot': True}
    >>> [(error.field, error.detail) for error in found.errors][:1]
    [('provider narrow: .spec.securityContext.hostPID', 'Host PID is not allowed to be used')]
    """
    return _Provider(constraint, {**UNALLOCATED, **annotations_of(namespace)}).held(pod)


class _Provider:
    """A constraint with the values that a namespace has for it (``SecurityContextConstraintsProvider``)."""

    def __init__(self, constraint: Object, annotations: Mapping[str, str]) -> None:
        self._constraint = constraint
        self._users = self._range_of_users(annotations)
        self._labels = self._selinux(annotations)
        blocks = _blocks(annotations.get(_GROUPS) or annotations[_USERS])
        self._groups = self._ranges("supplementalGroups", blocks)
        self._group_of_files = self._ranges("fsGroup", [(blocks[0][0], blocks[0][0])])
        profiles = list(constraint.get("seccompProfiles") or ())
        self._profiles = [profile for profile in profiles if profile != "*"]
        self._any_profile = "*" in profiles

    def _range_of_users(self, annotations: Mapping[str, str]) -> tuple[int, int] | None:
        user = self._constraint.get("runAsUser") or {}
        if user.get("type") == "MustRunAs":
            return user.get("uid") or 0, user.get("uid") or 0
        if user.get("type") != "MustRunAsRange":
            return None
        first, last = user.get("uidRangeMin"), user.get("uidRangeMax")
        if first is None and last is None:
            return _blocks(annotations[_USERS])[0]
        return first or 0, last or 0

    def _selinux(self, annotations: Mapping[str, str]) -> Object | None:
        if _strategy(self._constraint, "seLinuxContext") != "MustRunAs":
            return None
        options = at(self._constraint, "seLinuxContext", "seLinuxOptions") or {}
        return {**options, "level": options.get("level") or annotations[_LEVEL]}

    def _ranges(self, of: str, own: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
        if _strategy(self._constraint, of) != "MustRunAs":
            return ()
        ranges = at(self._constraint, of, "ranges") or ()
        return [(each.get("min") or 0, each.get("max") or 0) for each in ranges] or own

    def held(self, pod: Object) -> Held:
        """The pod with what the constraint sets, and what it refuses."""
        root = f"provider {name_of(self._constraint)}: "
        pod = self._with_context(pod)
        errors = list(self._errors_of_pod(f"{root}.spec.securityContext", pod))
        spec = dict(pod["spec"])
        context = spec.get("securityContext") or {}
        for name in CONTAINER_LISTS:
            containers = []
            for number, container in enumerate(spec.get(name) or ()):
                own = self._with_own_context(context, container)
                containers.append(own)
                errors += self._errors_of_container(f"{root}.{name}[{number}]", spec, own)
            if containers:
                spec[name] = containers
        return Held({**pod, "spec": spec}, errors)

    def _allows(self, field: str) -> bool:
        return bool(self._constraint.get(field))

    def _with_context(self, pod: Object) -> Object:
        """The pod with the fields of its security context that are not given."""
        context = dict(at(pod, "spec", "securityContext") or {})
        if context.get("supplementalGroups") is None and self._groups:
            context["supplementalGroups"] = [self._groups[0][0]]
        if context.get("fsGroup") is None and self._group_of_files:
            context["fsGroup"] = self._group_of_files[0][0]
        if context.get("seLinuxOptions") is None and self._labels is not None:
            context["seLinuxOptions"] = self._labels
        profile = annotations_of(pod).get(SECCOMP_POD) or _noted(context.get("seccompProfile"))
        profile = profile or next(iter(self._profiles), "")
        if profile:
            pod = with_metadata(pod, annotations={**annotations_of(pod), SECCOMP_POD: profile})
            context["seccompProfile"] = as_field(_RUNTIME_DEFAULTS[0] if profile in _RUNTIME_DEFAULTS else profile)
        return {**pod, "spec": {**pod["spec"], "securityContext": context}}

    def _with_own_context(self, of_pod: Object, container: Object) -> Object:
        """A container with the fields of its security context that neither it nor the pod gives."""
        own = dict(container.get("securityContext") or {})
        both = _effective(of_pod, own)
        if both.get("runAsUser") is None and self._users is not None:
            own["runAsUser"] = both["runAsUser"] = self._users[0]
        if both.get("seLinuxOptions") is None and self._labels is not None:
            own["seLinuxOptions"] = self._labels
        must_not_be_root = _strategy(self._constraint, "runAsUser") == "MustRunAsNonRoot"
        user = both.get("runAsUser")
        if both.get("runAsNonRoot") is None and (must_not_be_root if user is None else user > 0):
            own["runAsNonRoot"] = True
        own |= self._capabilities(own)
        if self._allows("readOnlyRootFilesystem") and own.get("readOnlyRootFilesystem") is None:
            own["readOnlyRootFilesystem"] = True
        default, allowed = (
            self._constraint.get(name) for name in ("defaultAllowPrivilegeEscalation", "allowPrivilegeEscalation")
        )
        unrestricted = own.get("privileged") or "CAP_SYS_ADMIN" in (at(own, "capabilities", "add") or ())
        if own.get("allowPrivilegeEscalation") is None and default is not None and not unrestricted:
            own["allowPrivilegeEscalation"] = default
        if own.get("allowPrivilegeEscalation") is None and allowed is False:
            own["allowPrivilegeEscalation"] = False
        return {**container, "securityContext": own} if own or "securityContext" in container else container

    def _capabilities(self, context: Object) -> Object:
        """The capabilities that are added by default and those that must be dropped; empty without a change."""
        added, dropped = (set(at(context, "capabilities", side) or ()) for side in ("add", "drop"))
        add = added | (set(self._constraint.get("defaultAddCapabilities") or ()) - dropped)
        drop = dropped | set(self._constraint.get("requiredDropCapabilities") or ())
        if (add, drop) == (added, dropped):
            return {}
        sides = (("add", sorted(add)), ("drop", sorted(drop)))
        return {"capabilities": {side: names for side, names in sides if names}}

    def _errors_of_pod(self, path: str, pod: Object) -> Iterator[FieldError]:
        spec = pod["spec"]
        context = spec["securityContext"]
        groups = [context["fsGroup"]] if context.get("fsGroup") is not None else []
        yield from _errors_of_groups(f"{path}.fsGroup", groups, self._group_of_files)
        yield from _errors_of_groups(
            f"{path}.supplementalGroups", context.get("supplementalGroups") or [], self._groups
        )
        profile = annotations_of(pod).get(SECCOMP_POD) or _noted(context.get("seccompProfile"))
        yield from self._errors_of_profile(f"pod.metadata.annotations[{SECCOMP_POD}]", profile)
        yield from self._errors_of_labels(f"{path}.seLinuxOptions", context.get("seLinuxOptions"))
        yield from self._errors_of_host(path, spec)
        if self._constraint.get("userNamespaceLevel") == "RequirePodLevel" and spec.get("hostUsers") is not False:
            yield invalid_value(f"{path}.hostUsers", spec.get("hostUsers"), "Host Users must be set to false")
        yield from self._errors_of_sysctls(context)
        yield from self._errors_of_volumes(path, spec)

    def _errors_of_host(self, path: str, spec: Object) -> Iterator[FieldError]:
        for field, flag, words in _HOST:
            if spec.get(field) and not self._allows(flag):
                yield invalid_value(f"{path}.{field}", True, f"{words} is not allowed to be used")

    def _errors_of_sysctls(self, context: Object) -> Iterator[FieldError]:
        for number, sysctl in enumerate(context.get("sysctls") or ()):
            name, path = str(sysctl.get("name")), f"pod.spec.securityContext.sysctls[{number}]"
            if _matches(name, self._constraint.get("forbiddenSysctls") or ()):
                yield forbidden_field(path, f"sysctl {quoted(name)} is not allowed")
            elif name not in _SAFE_SYSCTLS and not _matches(name, self._constraint.get("allowedUnsafeSysctls") or ()):
                yield forbidden_field(path, f"unsafe sysctl {quoted(name)} is not allowed")

    def _errors_of_volumes(self, path: str, spec: Object) -> Iterator[FieldError]:
        allowed = set(self._constraint.get("volumes") or ())
        drivers = [each.get("driver") for each in self._constraint.get("allowedFlexVolumes") or ()]
        for number, volume in enumerate(spec.get("volumes") or ()):
            kind = next((name for name in volume if name != "name"), "")
            word = _VOLUMES.get(kind, kind)
            tokens = word == "projected" and "secret" in allowed and _has_only_tokens(volume["projected"])
            if not allowed & {word, "*"} and not tokens:
                yield invalid_value(f"spec.volumes[{number}]", word, f"{word} volumes are not allowed to be used")
            driver = at(volume, "flexVolume", "driver")
            if drivers and kind == "flexVolume" and driver not in drivers and allowed & {word, "*"}:
                where = f"{path}.volumes[{number}].driver"
                yield invalid_value(where, driver, "Flexvolume driver is not allowed to be used")

    def _errors_of_container(self, path: str, spec: Object, container: Object) -> Iterator[FieldError]:
        of_pod, own = spec.get("securityContext") or {}, container.get("securityContext") or {}
        both = _effective(of_pod, own)
        yield from self._errors_of_user(path, both)
        yield from self._errors_of_labels(f"{path}.seLinuxOptions", both.get("seLinuxOptions"))
        profile = _noted(own.get("seccompProfile") or of_pod.get("seccompProfile"))
        where = f"pod.metadata.annotations[{SECCOMP_CONTAINER}{container.get('name')}]"
        yield from self._errors_of_profile(where, profile)
        if own.get("privileged") and not self._allows("allowPrivilegedContainer"):
            yield invalid_value(f"{path}.privileged", True, "Privileged containers are not allowed")
        yield from self._errors_of_capabilities(path, own.get("capabilities"))
        yield from self._errors_of_host(path, spec)
        yield from self._errors_of_ports(path, spec)
        read_only = own.get("readOnlyRootFilesystem")
        if self._allows("readOnlyRootFilesystem") and read_only is False:
            where = f"{path}.readOnlyRootFilesystem"
            yield invalid_value(where, read_only, "ReadOnlyRootFilesystem must be set to true")
        if self._constraint.get("allowPrivilegeEscalation") is False and own.get("allowPrivilegeEscalation"):
            words = "Allowing privilege escalation for containers is not allowed"
            yield invalid_value(f"{path}.allowPrivilegeEscalation", True, words)

    def _errors_of_user(self, path: str, context: Object) -> Iterator[FieldError]:
        strategy, user = _strategy(self._constraint, "runAsUser"), context.get("runAsUser")
        if self._users is not None and user is not None and not self._users[0] <= user <= self._users[1]:
            first, last = self._users
            words = f"must be: {first}" if strategy == "MustRunAs" else f"must be in the ranges: [{first}, {last}]"
            yield invalid_value(f"{path}.runAsUser", user, words)
        if strategy != "MustRunAsNonRoot":
            return
        if context.get("runAsNonRoot") is False:
            yield invalid_value(f"{path}.runAsNonRoot", False, "must be true")
        elif user == 0:
            yield invalid_value(f"{path}.runAsUser", user, "running with the root UID is forbidden")

    def _errors_of_labels(self, path: str, options: Object | None) -> Iterator[FieldError]:
        if self._labels is None:
            return
        if options is None:
            yield required(path)
            return
        for field in ("level", "role", "type", "user"):
            wanted, given = self._labels.get(field) or "", options.get(field) or ""
            if wanted != given and not (field == "level" and _level(wanted) == _level(given)):
                yield invalid_value(f"{path}.{field}", given, f"must be {wanted}")

    def _errors_of_profile(self, path: str, profile: str) -> Iterator[FieldError]:
        if self._any_profile or (not self._profiles and not profile):
            return
        if not self._profiles:
            yield forbidden_field(path, "seccomp may not be set")
            return
        default = profile in _RUNTIME_DEFAULTS and any(one in _RUNTIME_DEFAULTS for one in self._profiles)
        if profile not in self._profiles and not default:
            listed = " ".join(self._profiles)
            yield forbidden_field(path, f"{profile} is not an allowed seccomp profile. Valid values are [{listed}]")

    def _errors_of_capabilities(self, path: str, capabilities: Object | None) -> Iterator[FieldError]:
        allowed = set(self._constraint.get("allowedCapabilities") or ())
        if capabilities is None or "*" in allowed:
            return
        allowed |= set(self._constraint.get("defaultAddCapabilities") or ())
        for name in capabilities.get("add") or ():
            if name not in allowed:
                yield invalid_value(f"{path}.capabilities.add", name, "capability may not be added")

    def _errors_of_ports(self, path: str, spec: Object) -> Iterator[FieldError]:
        """The ports of nodes that the pod takes, which are told of each of its containers."""
        for name in () if self._allows("allowHostPorts") else CONTAINER_LISTS:
            for number, container in enumerate(spec.get(name) or ()):
                for port in container.get("ports") or ():
                    if (port.get("hostPort") or 0) > 0:
                        where = f"{path}.{name}[{number}].hostPort"
                        yield invalid_value(where, port["hostPort"], "Host ports are not allowed to be used")


_SHARED: Final = ("runAsUser", "runAsNonRoot", "seLinuxOptions")
"""The fields of a container's security context that the pod's stands in for."""
_HOST: Final = (
    ("hostNetwork", "allowHostNetwork", "Host network"),
    ("hostPID", "allowHostPID", "Host PID"),
    ("hostIPC", "allowHostIPC", "Host IPC"),
)


def _effective(of_pod: Object, own: Object) -> dict[str, Any]:
    """The security context of a container with what it takes from that of its pod."""
    return {**{name: of_pod[name] for name in _SHARED if of_pod.get(name) is not None}, **own}


def _errors_of_groups(path: str, groups: Sequence[int], ranges: Sequence[tuple[int, int]]) -> Iterator[FieldError]:
    if ranges and not groups:
        yield invalid_value(path, groups, "unable to validate empty groups against required ranges")
    for group in groups if ranges else ():
        if not any(first <= group <= last for first, last in ranges):
            yield invalid_value(path, groups, f"{group} is not an allowed group")


def _blocks(text: str) -> list[tuple[int, int]]:
    """The first and last numbers of blocks, each a start with a length or an end: ``1000/100`` or ``1000-1099``.

    A text that cannot be read counts as one that is not written yet.
    """
    found = [_BLOCK.fullmatch(part) for part in text.split(",")]
    blocks = [
        (int(block[1]), int(block[1]) + int(block[3]) - 1 if block[2] == "/" else int(block[3]))
        for block in found
        if block
    ]
    return blocks if len(blocks) == len(found) else _blocks(UNALLOCATED[_USERS])


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(
        name.startswith(one.removesuffix("*")) if one.endswith("*") else name == one for one in map(str, patterns)
    )


def _level(text: str) -> object:
    """A level of SELinux, whose categories stand in any order."""
    sensitivity, colon, categories = text.partition(":")
    return (sensitivity, sorted(categories.split(","))) if colon else text


def _noted(profile: Object | None) -> str:
    """The annotation that stands for a field with a seccomp profile."""
    return as_annotation(profile, of_seccomp=True)


_TOKEN_MAPS: Final = {"kube-root-ca.crt": "ca.crt", "openshift-service-ca.crt": "service-ca.crt"}


def _has_only_tokens(projected: Object) -> bool:
    """True for a volume with what every pod gets: the token of its account, certificates and its namespace."""
    return all(_is_of_token(source) for source in projected.get("sources") or ())


def _is_of_token(source: Object) -> bool:
    token, config, fields = (source.get(name) for name in ("serviceAccountToken", "configMap", "downwardAPI"))
    if token is None and config is None and fields is None:
        return False
    if token is not None and (token.get("path") != "token" or token.get("audience")):
        return False
    if config is not None:
        key = _TOKEN_MAPS.get(str(config.get("name")))
        if key is None or [(item.get("key"), item.get("path")) for item in config.get("items") or ()] != [(key, key)]:
            return False
    return all(
        item.get("path") == "namespace" and (at(item, "fieldRef", "fieldPath") == "metadata.namespace")
        for item in (fields or {}).get("items") or ()
    )
