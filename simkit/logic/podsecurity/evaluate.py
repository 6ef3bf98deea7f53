"""The checks of a level in a release, and their results for a pod.

k8s.io/pod-security-admission/policy/registry.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from simkit.logic.podsecurity import baseline, restricted
from simkit.logic.podsecurity.policy import Check, Level, LevelVersion, Violation
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at

Versions = Mapping[int, Check]
"""A check by the first minor release with that form of it."""

_linux = restricted.linux_only


def _of_host_users(check: Check) -> Check:
    """A check of pods that share their users with the node; others may do as they like."""

    def checked(metadata: Object, spec: Object) -> Violation | None:
        return None if spec.get("hostUsers") is False else check(metadata, spec)

    return checked


BASELINE: Final[Mapping[str, Versions]] = {
    "appArmorProfile": {0: baseline.apparmor},
    "capabilities_baseline": {0: baseline.capabilities},
    "hostNamespaces": {0: baseline.host_namespaces},
    "hostPathVolumes": {0: baseline.host_path},
    "hostPorts": {0: baseline.host_ports},
    "hostProbesAndHostLifecycle": {34: baseline.probe_hosts},
    "privileged": {0: baseline.privileged},
    "procMount": {0: baseline.proc_mount, 35: _of_host_users(baseline.proc_mount)},
    "seLinuxOptions": {0: baseline.selinux, 31: baseline.selinux_31},
    "seccompProfile_baseline": {0: baseline.seccomp_annotations, 19: baseline.seccomp},
    "sysctls": {
        0: baseline.sysctls_at_first,
        27: baseline.sysctls_27,
        29: baseline.sysctls_29,
        32: baseline.sysctls_32,
    },
    "windowsHostProcess": {0: baseline.windows_host_process},
}
"""The checks by name, in the order of violations in messages."""

RESTRICTED: Final[Mapping[str, Versions]] = {
    "allowPrivilegeEscalation": {8: restricted.privilege_escalation, 25: _linux(restricted.privilege_escalation)},
    "capabilities_restricted": {22: restricted.capabilities, 25: _linux(restricted.capabilities)},
    "procMount_restricted": {35: baseline.proc_mount},
    "restrictedVolumes": {0: restricted.volumes},
    "runAsNonRoot": {0: restricted.non_root, 35: _of_host_users(restricted.non_root)},
    "runAsUser": {23: restricted.non_root_user, 35: _of_host_users(restricted.non_root_user)},
    "seccompProfile_restricted": {19: restricted.seccomp, 25: _linux(restricted.seccomp)},
}
"""The checks besides those of baseline."""

_REPLACES: Final = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}


def _newest(behaviour: ServedBehaviour) -> int:
    """The last minor release that changed a check that the server knows; later versions mean this one."""
    if behaviour.applies("pod-security-of-user-namespaces"):
        return 35
    if behaviour.applies("pod-security-of-probe-hosts"):
        return 34
    if behaviour.applies("pod-security-of-tcp-memory"):
        return 32
    return 31 if behaviour.applies("pod-security-of-container-engines") else 29


def _at(table: Mapping[str, Versions], minor: int) -> dict[str, Check]:
    found = {name: [check for since, check in versions.items() if since <= minor] for name, versions in table.items()}
    return {name: checks[-1] for name, checks in found.items() if checks}


def checks_of(wanted: LevelVersion, behaviour: ServedBehaviour) -> Sequence[Check]:
    """The checks of a level in a release, as far as a server knows that."""
    newest = _newest(behaviour)
    minor = newest if wanted.minor is None else min(wanted.minor, newest)
    found: Sequence[Check] = _checks(wanted.level, minor, images=behaviour.applies("pod-security-allows-image-volumes"))
    return found


@cache
def _checks(level: Level, minor: int, *, images: bool) -> Sequence[Check]:
    if level == "privileged":
        return ()
    checks = _at(BASELINE, minor)
    if level == "restricted":
        more = _at(RESTRICTED, minor)
        if images:
            more["restrictedVolumes"] = restricted.volumes_with_images
        replaced = {_REPLACES.get(name) for name in more}
        checks = {name: check for name, check in checks.items() if name not in replaced} | more
    return tuple(checks.values())


def violations(wanted: LevelVersion, metadata: Object, spec: Object, behaviour: ServedBehaviour) -> list[Violation]:
    """The violations of a level by a pod, as a server finds them.

    Examples
    --------
    >>> pod, behaviour = {"hostPID": True, "containers": []}, ServedBehaviour(30)
    >>> [str(one) for one in violations(LevelVersion("baseline"), {}, pod, behaviour)]
    ['host namespaces (hostPID=true)']
    """
    found = (check(metadata, spec) for check in checks_of(wanted, behaviour))
    return [violation for violation in found if violation is not None]


POD_TEMPLATES: Final[Mapping[GroupResource, tuple[str, ...]]] = {
    GroupResource("", "podtemplates"): ("template",),
    GroupResource("", "replicationcontrollers"): ("spec", "template"),
    GroupResource("apps", "replicasets"): ("spec", "template"),
    GroupResource("apps", "deployments"): ("spec", "template"),
    GroupResource("apps", "statefulsets"): ("spec", "template"),
    GroupResource("apps", "daemonsets"): ("spec", "template"),
    GroupResource("batch", "jobs"): ("spec", "template"),
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
"""The path to the pod template in each resource that creates pods."""


def template_of(resource: GroupResource, obj: Object) -> Object | None:
    """The pod template in an object; None if the object or its kind has none."""
    path = POD_TEMPLATES.get(resource)
    template: Object | None = at(obj, *path) if path else None
    return template
