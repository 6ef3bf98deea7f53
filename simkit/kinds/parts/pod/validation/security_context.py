"""Validation of pod and container security contexts.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.validation.fields import DESCENDING
from simkit.kinds.rules import by, fields, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import (
    CLUSTER_POLICY,
    Errors,
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    too_long_text,
    unsupported,
)
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object, at
from simkit.meta.podspec import CONTAINER_LISTS
from simkit.meta.wording import Worded, Written

_OF_POD: Final = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
_OF_CONTAINER: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def every_container(path: str, spec: Object) -> Iterator[tuple[str, Object]]:
    """All containers of a pod spec with their paths, in the order of their start."""
    for name in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{path}.{name}[{index}]", container


def validate_operating_system(path: str, spec: Object) -> Errors:
    """The errors of the operating system of a pod, and of fields that it excludes."""
    system = (spec.get("os") or {}).get("name") or ""
    if not system:
        yield required(f"{path}.os.name", Worded("required-without-detail", "", "cannot be empty"))
    elif system not in ("linux", "windows"):
        yield unsupported(f"{path}.os", system, ("linux", "windows"))
    elif system == "linux":
        yield from _validate_linux(path, spec)
    else:
        yield from _validate_windows(path, spec)


def _validate_linux(path: str, spec: Object) -> Errors:
    text = "windows options cannot be set for a linux pod"
    for place, holder in ((path, spec), *every_container(path, spec)):
        if at(holder, "securityContext", "windowsOptions") is not None:
            yield forbidden_field(f"{place}.securityContext.windowsOptions", text)


def _validate_windows(path: str, spec: Object) -> Errors:
    text = "cannot be set for a windows pod"
    for name in _OF_POD:
        value = at(spec, *name.split("."))
        if value not in (None, [], False) or (value is False and name == "shareProcessNamespace"):
            yield forbidden_field(f"{path}.{name}", text)
    for place, container in every_container(path, spec):
        for name in _OF_CONTAINER:
            if at(container, "securityContext", name) is not None:
                yield forbidden_field(f"{place}.securityContext.{name}", text)


def validate_host_process(path: str, spec: Object) -> Errors:
    """The errors of HostProcess containers: all must be, or none."""
    of_pod = at(spec, "securityContext", "windowsOptions", "hostProcess")
    count = hosted = 0
    for place, container in every_container(path, spec):
        own = at(container, "securityContext", "windowsOptions", "hostProcess")
        count += 1
        where = f"{place}.securityContext.windowsOptions.hostProcess"
        if own is not None and of_pod is not None and own is not of_pod:
            shown = "true" if of_pod else "false"
            text = f"pod hostProcess value must be identical if both are specified, was {shown}"
            yield invalid_value(where, own, text)
        hosted += bool(of_pod if own is None else own)
    if not hosted:
        return
    if hosted != count:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid_value(path, "", text)
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid_value(f"{path}.hostNetwork", False, text)
    yield forbidden_field(path, f"hostProcess containers are {CLUSTER_POLICY}")


_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE: Final = 4095
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}"
_SYSCTL_RE: Final = re.compile(_SYSCTL)
_EARLY_SYSCTL: Final = rf"({_SYSCTL_SEGMENT}\.)*{_SYSCTL_SEGMENT}"
_EARLY_SYSCTL_RE: Final = re.compile(_EARLY_SYSCTL)
_IPC_SYSCTLS: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def _sysctl_rule(behaviour: ServedBehaviour) -> str:
    """The rule for names of sysctls, as errors tell it."""
    pattern = f"^{_SYSCTL}$" if behaviour.applies("sysctls-with-slashes") else _EARLY_SYSCTL
    return f"must have at most 253 characters and match regex {pattern}"


_OLD_DOMAIN: Final = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""")
_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NOT_IN_USERS: Final = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""")


def _shown_profile(behaviour: ServedBehaviour, profile: Object) -> Sequence[FieldError]:
    """The error of a local profile of another type, which shows all of the profile."""
    shown = structure("core.SeccompProfile", profile)
    return (invalid_value(".localhostProfile", shown, "can only be set when seccomp type is Localhost"),)


def _is_misplaced(profile: Object) -> bool:
    return profile.get("type") != "Localhost" and profile.get("localhostProfile") is not None


_SECCOMP: Final = table(
    row("type", must.be_given("type is required when seccompProfile is set"), must.be_one_of(*_PROFILES)),
    row("", _shown_profile, when=_is_misplaced),
    row(
        "localhostProfile",
        must.be_given("must be set when seccomp type is Localhost", pointer=True),
        DESCENDING,
        when=fields.equal("type", "Localhost"),
    ),
)


def _validate_local(behaviour: ServedBehaviour, path: str, profile: str) -> Errors:
    if profile.strip() != profile:
        yield invalid_value(path, profile, "must not be padded with whitespace")
    elif not profile:
        yield required(path, "must be set when AppArmor type is Localhost")
    if len(profile.encode()) > _LONGEST_PROFILE:
        yield too_long_text(path, _LONGEST_PROFILE)


APP_ARMOR: Final = table(
    row(
        "localhostProfile",
        must.be_given("must be set when AppArmor type is Localhost", pointer=True),
        by(_validate_local),
        when=fields.equal("type", "Localhost"),
    ),
    row(
        "localhostProfile",
        must.be_otherwise("can only be set when AppArmor type is Localhost"),
        when=fields.equal("type", "RuntimeDefault", "Unconfined"),
        empty=True,
    ),
    row("type", must.be_given("type is required when appArmorProfile is set"), must.be_one_of(*_PROFILES)),
)
"""The check of an AppArmor profile."""


def _validate_windows_user(behaviour: ServedBehaviour, path: str, user: str) -> Errors:
    if not user:
        yield invalid_value(path, user, "runAsUserName cannot be an empty string")
        return
    if re.search(r"[\x00-\x1f\x7f]", user):
        yield invalid_value(path, user, "runAsUserName cannot contain control characters")
        return
    parts = user.split("\\")
    if len(parts) > 2:
        yield invalid_value(path, user, "runAsUserName cannot contain more than one backslash")
        return
    name = parts[-1]
    if len(parts) == 2:
        domain = parts[0]
        if len(domain.encode()) > 255:
            yield invalid_value(path, user, "runAsUserName's Domain length must be under 256 characters")
        if not _OLD_DOMAIN.fullmatch(domain) and not _DOMAIN.fullmatch(domain):
            yield invalid_value(path, user, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not name:
        yield invalid_value(path, user, "runAsUserName's User cannot be empty")
    elif len(name.encode()) > 104:
        yield invalid_value(path, user, "runAsUserName's User length must not be longer than 104 characters")
    if re.fullmatch(r"[. ]+", name):
        yield invalid_value(path, user, "runAsUserName's User cannot contain only periods or spaces")
    if _NOT_IN_USERS.search(name):
        text = "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
        yield invalid_value(path, user, text)


_WINDOWS: Final = table(
    row("gmsaCredentialSpecName", must.be(dns_subdomain), empty=True),
    row(
        "gmsaCredentialSpec",
        must.hold(bool, "gmsaCredentialSpec cannot be an empty string"),
        must.hold(lambda given: len(given.encode()) <= 64 * 1024, "gmsaCredentialSpec size must be under 64 KiB"),
        empty=True,
    ),
    row("runAsUserName", by(_validate_windows_user), empty=True),
)
ID: Final = must.be_between(0, 2**31 - 1)
"""The check of a user or group ID."""
_IDENTIFIERS: Final = table(
    row("fsGroup", ID),
    row("runAsUser", ID),
    row("runAsGroup", ID),
    row("supplementalGroups[]", ID),
)
_SHARED_PROCESSES: Final = must.be_otherwise("ShareProcessNamespace and HostPID cannot both be enabled")
_SHARED: Final = row("shareProcessNamespace", _SHARED_PROCESSES, when=fields.given("shareProcessNamespace", "hostPID"))
_POLICIES: Final = table(
    row("fsGroupChangePolicy", must.be_one_of("Always", "OnRootMismatch"), empty=True),
    row("seccompProfile", _SECCOMP),
    row("windowsOptions", _WINDOWS),
    row("appArmorProfile", APP_ARMOR),
    row("supplementalGroupsPolicy", must.be_one_of("Merge", "Strict"), empty=True),
    row("seLinuxChangePolicy", must.be_one_of("MountOption", "Recursive"), empty=True, since="selinux-mount-option"),
    row("seLinuxChangePolicy", must.be_one_of("Recursive"), empty=True, until="selinux-mount-option"),
)


def validate_pod_security(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    """The errors of the security context of a pod."""
    context = spec.get("securityContext") or {}
    yield from placed(path, [*_IDENTIFIERS(behaviour, context), *_SHARED(behaviour, spec)])
    yield from _validate_sysctl(behaviour, f"{path}.sysctls", context, spec)
    yield from placed(path, _POLICIES(behaviour, context))


def validate_host_users(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    """The errors of a pod with users of its own that shares other things with its node."""
    if spec.get("hostUsers") is not False:
        return
    text = (
        f"when `{'hostUsers' if behaviour.applies('host-users-error-names-field') else 'pod.Spec.HostUsers'}` is false"
    )
    shared = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    for name, shown in shared:
        if spec.get(name):
            yield forbidden_field(f"{path}.{shown}", text)
    if behaviour.applies("user-namespaces-without-volume-devices"):
        for place, container in every_container(path, spec):
            if container.get("volumeDevices"):
                yield forbidden_field(f"{place}.volumeDevices", text)


def _validate_sysctl(behaviour: ServedBehaviour, path: str, context: Object, spec: Object) -> Errors:
    names: set[str] = set()
    for index, item in enumerate(context.get("sysctls") or ()):
        at, name = f"{path}[{index}].name", item.get("name") or ""
        if not name:
            yield required(at)
        elif len(name) > 253 or not (
            _SYSCTL_RE if behaviour.applies("sysctls-with-slashes") else _EARLY_SYSCTL_RE
        ).fullmatch(name):
            yield invalid_value(at, name, _sysctl_rule(behaviour))
        elif name in names:
            yield duplicate(at, name)
        if not behaviour.applies("sysctls-of-the-host-refused"):
            continue
        dotted = _dotted(name)
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield invalid_value(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and dotted.startswith(_IPC_SYSCTLS):
            yield invalid_value(at, name, "may not be specified when 'hostIPC' is true")
        names.add(name)


def _dotted(name: str) -> str:
    """The sysctl's name with dots between its parts: slashes and dots are swapped if a slash comes first."""
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))


_CONTAINER: Final = table(
    row("privileged", must.be_absent(CLUSTER_POLICY)),
    row("runAsUser", ID),
    row("runAsGroup", ID),
    row("procMount", must.be_one_of("Default", "Unmasked"), empty=True),
)
_PROC_MOUNT: Final = row(
    "procMount",
    must.be_otherwise("`hostUsers` must be false to use `Unmasked`"),
    when=fields.equal("procMount", "Unmasked"),
)
_PROFILE: Final = row("seccompProfile", _SECCOMP)
_REST: Final = table(row("windowsOptions", _WINDOWS), row("appArmorProfile", APP_ARMOR))


def validate_container_security(
    behaviour: ServedBehaviour, path: str, context: Object | None, *, host_users: bool
) -> Errors:
    """The errors of the security context of a container."""
    if context is None:
        return
    yield from placed(
        path,
        [
            *_CONTAINER(behaviour, context),
            *(_PROC_MOUNT(behaviour, context) if host_users else ()),
            *_PROFILE(behaviour, context),
        ],
    )
    if context.get("allowPrivilegeEscalation") is False:
        lead = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            yield invalid_value(path, _shown(context), f"{lead} `privileged` to true")
        added = (context.get("capabilities") or {}).get("add") or ()
        for _ in range(added.count("CAP_SYS_ADMIN")):
            yield invalid_value(path, _shown(context), f"{lead} `capabilities.Add` CAP_SYS_ADMIN")
    yield from placed(path, _REST(behaviour, context))


def _shown(context: Object) -> Written:
    return structure("core.SecurityContext", context)
