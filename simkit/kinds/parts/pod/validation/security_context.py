"""Validation of pod and container security contexts.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.operating_system import every_container
from simkit.kinds.parts.pod.validation.paths import validate_local_descending_path
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import (
    CLUSTER_POLICY,
    FieldError,
    Shown,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    too_long_text,
    unsupported,
)
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object

_LARGEST_ID: Final = 2**31 - 1
_ID_RULE: Final = f"must be between 0 and {_LARGEST_ID}, inclusive"
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE: Final = 4095
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}"
_SYSCTL_RE: Final = re.compile(_SYSCTL)
_EARLY_SYSCTL: Final = rf"({_SYSCTL_SEGMENT}\.)*{_SYSCTL_SEGMENT}"
_EARLY_SYSCTL_RE: Final = re.compile(_EARLY_SYSCTL)
_IPC_SYSCTLS: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def _sysctl_rule() -> str:
    """The rule for names of sysctls, as errors tell it."""
    pattern = f"^{_SYSCTL}$" if applies("sysctls-with-slashes") else _EARLY_SYSCTL
    return f"must have at most 253 characters and match regex {pattern}"


def validate_id(path: str, value: int | None) -> Iterator[FieldError]:
    """The errors of an invalid user or group ID; an absent one is valid."""
    if value is not None and not 0 <= value <= _LARGEST_ID:
        yield invalid_value(path, value, _ID_RULE)


def validate_pod_security(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the security context of a pod."""
    context = spec.get("securityContext") or {}
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from validate_id(f"{path}.{name}", context.get(name))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from validate_id(f"{path}.supplementalGroups[{index}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid_value(f"{path}.shareProcessNamespace", True, text)
    yield from _validate_sysctl(f"{path}.sysctls", context, spec)
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in ("Always", "OnRootMismatch"):
        yield unsupported(f"{path}.fsGroupChangePolicy", policy, ("Always", "OnRootMismatch"))
    yield from validate_seccomp(f"{path}.seccompProfile", context.get("seccompProfile"))
    yield from validate_windows(f"{path}.windowsOptions", context.get("windowsOptions"))
    yield from validate_app_armor(f"{path}.appArmorProfile", context.get("appArmorProfile"))
    groups = context.get("supplementalGroupsPolicy")
    if groups is not None and groups not in ("Merge", "Strict"):
        yield unsupported(f"{path}.supplementalGroupsPolicy", groups, ("Merge", "Strict"))
    yield from _validate_label_change(f"{path}.seLinuxChangePolicy", context.get("seLinuxChangePolicy"))


def _validate_label_change(path: str, policy: str | None) -> Iterator[FieldError]:
    choices = ("MountOption", "Recursive") if applies("selinux-mount-option") else ("Recursive",)
    if policy is not None and policy not in choices:
        yield unsupported(path, policy, choices)


def validate_host_users(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of a pod with users of its own that shares other things with its node."""
    if spec.get("hostUsers") is not False:
        return
    text = f"when `{'hostUsers' if applies('host-users-error-names-field') else 'pod.Spec.HostUsers'}` is false"
    shared = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    for name, shown in shared:
        if spec.get(name):
            yield forbidden_field(f"{path}.{shown}", text)
    if applies("user-namespaces-without-volume-devices"):
        for place, container in every_container(path, spec):
            if container.get("volumeDevices"):
                yield forbidden_field(f"{place}.volumeDevices", text)


def _validate_sysctl(path: str, context: Object, spec: Object) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, item in enumerate(context.get("sysctls") or ()):
        at, name = f"{path}[{index}].name", item.get("name") or ""
        if not name:
            yield required(at)
        elif len(name) > 253 or not (_SYSCTL_RE if applies("sysctls-with-slashes") else _EARLY_SYSCTL_RE).fullmatch(
            name
        ):
            yield invalid_value(at, name, _sysctl_rule())
        elif name in names:
            yield duplicate(at, name)
        if not applies("sysctls-of-the-host-refused"):
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


def validate_container_security(path: str, context: Object | None, *, host_users: bool) -> Iterator[FieldError]:
    """The errors of the security context of a container."""
    if context is None:
        return
    privileged = bool(context.get("privileged"))
    if privileged:
        yield forbidden_field(f"{path}.privileged", CLUSTER_POLICY)
    yield from validate_id(f"{path}.runAsUser", context.get("runAsUser"))
    yield from validate_id(f"{path}.runAsGroup", context.get("runAsGroup"))
    mount = context.get("procMount")
    if mount is not None and mount not in ("Default", "Unmasked"):
        yield unsupported(f"{path}.procMount", mount, ("Default", "Unmasked"))
    if mount == "Unmasked" and host_users:
        yield invalid_value(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from validate_seccomp(f"{path}.seccompProfile", context.get("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        lead = "cannot set `allowPrivilegeEscalation` to false and"
        if privileged:
            yield invalid_value(path, _shown(context), f"{lead} `privileged` to true")
        added = (context.get("capabilities") or {}).get("add") or ()
        for _ in range(added.count("CAP_SYS_ADMIN")):
            yield invalid_value(path, _shown(context), f"{lead} `capabilities.Add` CAP_SYS_ADMIN")
    yield from validate_windows(f"{path}.windowsOptions", context.get("windowsOptions"))
    yield from validate_app_armor(f"{path}.appArmorProfile", context.get("appArmorProfile"))


def _shown(context: Object) -> Shown:
    return structure("core.SecurityContext", context)


def validate_seccomp(path: str, profile: Object | None) -> Iterator[FieldError]:
    """The errors of a seccomp profile."""
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield unsupported(f"{path}.type", kind, _PROFILES)
    if kind != "Localhost":
        if local is not None:
            shown = structure("core.SeccompProfile", profile)
            yield invalid_value(f"{path}.localhostProfile", shown, "can only be set when seccomp type is Localhost")
    elif local is None:
        yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
    else:
        yield from validate_local_descending_path(f"{path}.localhostProfile", local)


def validate_app_armor(path: str, profile: Object | None) -> Iterator[FieldError]:
    """The errors of an AppArmor profile."""
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        yield from _validate_local(at, local)
    elif kind in _PROFILES:
        if local is not None:
            yield invalid_value(at, local, "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    else:
        yield unsupported(f"{path}.type", kind, _PROFILES)


def _validate_local(path: str, profile: str | None) -> Iterator[FieldError]:
    if profile is not None and profile.strip() != profile:
        yield invalid_value(path, profile, "must not be padded with whitespace")
    elif not profile:
        yield required(path, "must be set when AppArmor type is Localhost")
    if profile is not None and len(profile.encode()) > _LONGEST_PROFILE:
        yield too_long_text(path, _LONGEST_PROFILE)


_LONGEST_CREDENTIAL: Final = 64 * 1024
_OLD_DOMAIN: Final = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""")
_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NOT_IN_USERS: Final = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""")


def validate_windows(path: str, options: Object | None) -> Iterator[FieldError]:
    """The errors of the options of Windows containers."""
    if options is None:
        return
    name, credentials = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        yield from (invalid_value(f"{path}.gmsaCredentialSpecName", name, text) for text in dns_subdomain(name))
    if credentials is not None:
        at = f"{path}.gmsaCredentialSpec"
        if not credentials:
            yield invalid_value(at, credentials, "gmsaCredentialSpec cannot be an empty string")
        elif len(credentials.encode()) > _LONGEST_CREDENTIAL:
            yield invalid_value(
                at, credentials, f"gmsaCredentialSpec size must be under {_LONGEST_CREDENTIAL // 1024} KiB"
            )
    if options.get("runAsUserName") is not None:
        yield from _validate_windows_user(f"{path}.runAsUserName", options["runAsUserName"])


def _validate_windows_user(path: str, user: str) -> Iterator[FieldError]:
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
