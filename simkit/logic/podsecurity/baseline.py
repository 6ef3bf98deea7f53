"""The checks of the level ``baseline``, which forbids known privilege escalations.

k8s.io/pod-security-admission/policy, check_*.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from simkit.logic.podsecurity.policy import Violation, offenders, plural, quoted, security, setters, who
from simkit.meta.domain import label
from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of

APPARMOR: Final = label("", "container.apparmor.security.beta")
_SECCOMP_POD: Final = label("pod", "seccomp.security.alpha")
_SECCOMP_CONTAINER: Final = label("", "container.seccomp.security.alpha")
CAPABILITIES: Final = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
SELINUX_TYPES_31: Final = SELINUX_TYPES | {"container_engine_t"}
_SYSCTLS_AT_FIRST: Final = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    )
)
_SYSCTLS_27: Final = _SYSCTLS_AT_FIRST | {"net.ipv4.ip_local_reserved_ports"}
SYSCTLS_29: Final = _SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
SYSCTLS_32: Final = SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
PROFILES: Final = frozenset({"RuntimeDefault", "Localhost"})


def apparmor(metadata: Object, spec: Object) -> Violation | None:
    """The check of AppArmor profiles: the runtime's default or a profile of the node, by field or by annotation."""
    pod, bad, values = _bad_profiles(spec, "appArmorProfile")
    notes = sorted(f'{key}="{value}"' for key, value in _annotations(metadata).items() if _bad_apparmor(key, value))
    shown = [*sorted(values), *notes]
    by = " and ".join(filter(None, [setters(pod, bad), plural(len(notes), "annotation") if notes else ""]))
    if not by:
        return None
    detail = f"{by} must not set AppArmor profile type to {quoted(shown)}"
    return Violation(plural(len(shown), "forbidden AppArmor profile"), detail)


def _bad_profiles(spec: Object, field: str) -> tuple[bool, list[str], set[str]]:
    """Three facts about AppArmor or seccomp: the pod sets a forbidden profile, the containers that do, and the
    profile types."""
    chosen = at(spec, "securityContext", field)
    own = _forbidden_profile(chosen)
    bad, values = offenders(spec, lambda container: _forbidden_profile(security(container, field)))
    return bool(own), bad, {*own, *values}


def _forbidden_profile(chosen: Object | None) -> tuple[str, ...]:
    return () if chosen is None or chosen.get("type") in PROFILES else (chosen.get("type", ""),)


def _annotations(metadata: Object) -> Mapping[str, str]:
    return metadata.get("annotations") or {}


def _bad_apparmor(key: str, value: str) -> bool:
    return key.startswith(APPARMOR) and not (value in ("", "runtime/default") or value.startswith("localhost/"))


def capabilities(metadata: Object, spec: Object) -> Violation | None:
    """The check of capabilities beyond those that container runtimes give by default."""
    bad, added = offenders(spec, lambda one: set(security(one, "capabilities", "add") or ()) - CAPABILITIES)
    if not bad:
        return None
    detail = f"{who(bad)} must not include {quoted(sorted(added))} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def host_namespaces(metadata: Object, spec: Object) -> Violation | None:
    """The check of the node's network, process and IPC namespaces."""
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_path(metadata: Object, spec: Object) -> Violation | None:
    """The check of hostPath volumes."""
    bad = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", f"{plural(len(bad), 'volume')} {quoted(bad)}") if bad else None


def host_ports(metadata: Object, spec: Object) -> Violation | None:
    """The check of host ports."""
    bad, ports = offenders(
        spec, lambda one: [str(port["hostPort"]) for port in one.get("ports") or () if port.get("hostPort")]
    )
    if not bad:
        return None
    verb, noun = plural(len(bad), "uses", "use"), plural(len(ports), "hostPort")
    return Violation("hostPort", f"{who(bad)} {verb} {noun} {', '.join(sorted(ports))}")


def probe_hosts(metadata: Object, spec: Object) -> Violation | None:
    """The check of hosts in probes and lifecycle handlers."""
    bad, hosts = offenders(spec, _hosts)
    if not bad:
        return None
    verb, noun = plural(len(bad), "uses", "use"), plural(len(hosts), "probe or lifecycle host")
    return Violation("probe or lifecycle host", f"{who(sorted(bad))} {verb} {noun} {quoted(sorted(hosts))}")


def _hosts(container: Object) -> Iterator[str]:
    probes = (container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe"))
    handlers = (at(container, "lifecycle", name) for name in ("postStart", "preStop"))
    for handler in (*probes, *handlers):
        for action in ("httpGet", "tcpSocket"):
            host = at(handler or {}, action, "host")
            if host:
                yield host


def privileged(metadata: Object, spec: Object) -> Violation | None:
    """The check of privileged containers."""
    bad = [container["name"] for container in containers_of(spec) if security(container, "privileged")]
    return Violation("privileged", f"{who(bad)} must not set securityContext.privileged=true") if bad else None


def proc_mount(metadata: Object, spec: Object) -> Violation | None:
    """The check of the unmasked /proc."""
    bad, types = offenders(spec, lambda one: {security(one, "procMount")} - {None, "Default"})
    if not bad:
        return None
    return Violation("procMount", f"{who(bad)} must not set securityContext.procMount to {quoted(sorted(types))}")


def _selinux(types_allowed: frozenset[str], metadata: Object, spec: Object) -> Violation | None:
    """The check of SELinux users, roles and types."""
    found: dict[str, set[str]] = {"type": set(), "user": set(), "role": set()}
    pod = _bad_selinux(at(spec, "securityContext", "seLinuxOptions"), found, types_allowed)
    bad = [
        each["name"]
        for each in containers_of(spec)
        if _bad_selinux(security(each, "seLinuxOptions"), found, types_allowed)
    ]
    by = setters(pod, bad)
    if not by:
        return None
    types = sorted(found["type"])
    told = [f"{plural(len(types), 'type')} {quoted(types)}"] if types else []
    told += [f"{name} may not be set" for name in ("user", "role") if found[name]]
    return Violation("seLinuxOptions", f"{by} set forbidden securityContext.seLinuxOptions: {'; '.join(told)}")


def _bad_selinux(options: Mapping[str, Any] | None, found: dict[str, set[str]], allowed: frozenset[str]) -> bool:
    if options is None:
        return False
    wrong = {name: options[name] for name in ("user", "role") if options.get(name)}
    if options.get("type", "") not in allowed:
        wrong["type"] = options["type"]
    for name, value in wrong.items():
        found[name].add(value)
    return bool(wrong)


selinux = partial(_selinux, SELINUX_TYPES)
selinux_31 = partial(_selinux, SELINUX_TYPES_31)


def seccomp_annotations(metadata: Object, spec: Object) -> Violation | None:
    """The check of seccomp profiles in annotations, as releases before 1.19 knew them."""
    notes = _annotations(metadata)
    keys = {_SECCOMP_POD, *(_SECCOMP_CONTAINER + each["name"] for each in containers_of(spec))}
    bad = sorted(f'{key}="{notes[key]}"' for key in keys & notes.keys() if not _good_seccomp(notes[key]))
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {plural(len(bad), 'annotation')} {', '.join(bad)}")


def _good_seccomp(value: str) -> bool:
    return value in ("runtime/default", "docker/default") or value.startswith("localhost/")


def seccomp(metadata: Object, spec: Object) -> Violation | None:
    """The check of seccomp profiles in fields: Unconfined is forbidden."""
    pod, bad, values = _bad_profiles(spec, "seccompProfile")
    by = setters(pod, bad)
    if not by:
        return None
    detail = f"{by} must not set securityContext.seccompProfile.type to {quoted(sorted(values))}"
    return Violation("seccompProfile", detail)


def _sysctls(allowed: frozenset[str], metadata: Object, spec: Object) -> Violation | None:
    """The check of sysctls outside of the safe set."""
    chosen = at(spec, "securityContext", "sysctls") or ()
    bad = [sysctl["name"] for sysctl in chosen if sysctl["name"] not in allowed]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


sysctls_at_first = partial(_sysctls, _SYSCTLS_AT_FIRST)
sysctls_27 = partial(_sysctls, _SYSCTLS_27)
sysctls_29 = partial(_sysctls, SYSCTLS_29)
sysctls_32 = partial(_sysctls, SYSCTLS_32)


def windows_host_process(metadata: Object, spec: Object) -> Violation | None:
    """The check of HostProcess containers on Windows."""
    pod = bool(at(spec, "securityContext", "windowsOptions", "hostProcess"))
    bad = [each["name"] for each in containers_of(spec) if security(each, "windowsOptions", "hostProcess")]
    by = setters(pod, bad)
    if not by:
        return None
    return Violation("hostProcess", f"{by} must not set securityContext.windowsOptions.hostProcess=true")
