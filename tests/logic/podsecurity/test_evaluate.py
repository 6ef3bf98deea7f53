"""The messages of each check about pods that it forbids, by release."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from simkit.logic.podsecurity import evaluate
from simkit.logic.podsecurity.evaluate import BASELINE, RESTRICTED, checks_of, template_of
from simkit.logic.podsecurity.policy import LevelVersion, forbidden_detail, forbidden_reason
from simkit.meta.names import GroupResource
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")
violations = partial(evaluate.violations, behaviour=BEHAVIOUR)
BASE, STRICT = LevelVersion("baseline"), LevelVersion("restricted")


def container(name: str = "c", **context: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", **({"securityContext": context} if context else {})}


def spec(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containers": list(containers) or [container()], **more}


def said(wanted: LevelVersion, pod: dict[str, Any], **annotations: str) -> str:
    return forbidden_detail(violations(wanted, {"annotations": annotations}, pod))


HARDENED = container(
    allowPrivilegeEscalation=False,
    runAsNonRoot=True,
    capabilities={"drop": ["ALL"]},
    seccompProfile={"type": "RuntimeDefault"},
)


def test_privileged_forbids_nothing() -> None:
    """The level has no checks at all."""
    assert violations(LevelVersion("privileged"), {}, spec(hostPID=True)) == []


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (
            spec(hostNetwork=True, hostPID=True, hostIPC=True),
            "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
        ),
        (spec(volumes=[{"name": "h", "hostPath": {"path": "/"}}]), 'hostPath volumes (volume "h")'),
        (
            spec({**container(), "ports": [{"hostPort": 80}]}, {**container("d"), "ports": [{"hostPort": 8080}]}),
            'hostPort (containers "c", "d" use hostPorts 80, 8080)',
        ),
        (spec(container(privileged=True)), 'privileged (container "c" must not set securityContext.privileged=true)'),
        (
            spec(container(procMount="Unmasked")),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            spec(container(capabilities={"add": ["NET_RAW", "CHOWN"]})),
            'non-default capabilities (container "c" must not include "NET_RAW" in securityContext.capabilities.add)',
        ),
        (
            spec(container(seLinuxOptions={"role": "r"}), securityContext={"seLinuxOptions": {"type": "t"}}),
            'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "t"; role may not be set)',
        ),
        (
            spec(container(seccompProfile={"type": "Unconfined"})),
            'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            spec(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
            'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
        ),
        (
            spec(
                container(windowsOptions={"hostProcess": True}),
                securityContext={"windowsOptions": {"hostProcess": True}},
            ),
            'hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)',
        ),
        (
            spec(securityContext={"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_syncookies"}]}),
            "forbidden sysctls (kernel.msgmax)",
        ),
    ],
)
def test_baseline_tells_what_it_forbids(pod: dict[str, Any], text: str) -> None:
    """Each check has its own words, naming who does what."""
    assert said(BASE, pod) == text


def test_baseline_has_nothing_against_a_plain_pod() -> None:
    """A pod that asks for nothing special may run."""
    assert violations(BASE, {}, spec()) == []


def test_restricted_asks_for_a_hardened_pod() -> None:
    """All that a pod has to say of itself is asked for at once."""
    assert forbidden_reason(violations(STRICT, {}, spec())) == (
        "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile"
    )
    assert violations(STRICT, {}, spec(HARDENED)) == []


def test_restricted_replaces_the_checks_that_it_makes_stricter() -> None:
    """A path of the node is told once, as a type of volume, and not as a path as well."""
    pod = spec(HARDENED, volumes=[{"name": "h", "hostPath": {"path": "/"}}])
    assert said(STRICT, pod) == 'restricted volume types (volume "h" uses restricted volume type "hostPath")'


def test_the_pod_speaks_for_silent_containers() -> None:
    """The pod's field counts for containers without the field, not for those that set it."""
    context = {"runAsNonRoot": True, "seccompProfile": {"type": "Localhost"}}
    quiet = container(allowPrivilegeEscalation=False, capabilities={"drop": ["ALL"]})
    assert violations(STRICT, {}, spec(quiet, securityContext=context)) == []
    loud = {**quiet, "securityContext": {**quiet["securityContext"], "runAsNonRoot": False}}
    assert said(STRICT, spec(loud, securityContext=context)) == (
        'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)'
    )


def test_init_and_ephemeral_containers_count() -> None:
    """No kind of container is a way round the checks; init containers are told first."""
    pod = spec(initContainers=[container("i", privileged=True)], ephemeralContainers=[container("e", privileged=True)])
    assert said(BASE, pod) == 'privileged (containers "i", "e" must not set securityContext.privileged=true)'


@pytest.mark.parametrize(("minor", "allowed"), [(26, False), (27, True), (None, True)])
def test_sysctls_depend_on_the_release(minor: int | None, allowed: bool) -> None:
    """Later releases found more kernel parameters harmless."""
    pod = spec(securityContext={"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]})
    assert (not violations(LevelVersion("baseline", minor), {}, pod)) is allowed


@pytest.mark.parametrize(("minor", "count"), [(24, 4), (25, 1)])
def test_windows_pods_are_left_alone_by_linux_checks(minor: int, count: int) -> None:
    """From 1.25 on a pod for Windows need not say what only Linux knows."""
    assert len(violations(LevelVersion("restricted", minor), {}, spec(os={"name": "windows"}))) == count


def test_old_releases_looked_at_annotations() -> None:
    """Before 1.19 seccomp was an annotation, and nothing had to be said of it at restricted."""
    key = "seccomp.security.alpha.kubernetes.io/pod"
    pod = spec()
    assert forbidden_detail(violations(LevelVersion("baseline", 18), {"annotations": {key: "unconfined"}}, pod)) == (
        f'seccompProfile (forbidden annotation {key}="unconfined")'
    )
    assert violations(LevelVersion("baseline", 19), {"annotations": {key: "unconfined"}}, pod) == []


def test_apparmor_annotations_are_told_with_their_values() -> None:
    """Annotation and field may both be wrong."""
    key = "container.apparmor.security.beta.kubernetes.io/c"
    found = forbidden_detail(violations(BASE, {"annotations": {key: "unconfined"}}, spec()))
    assert (
        found == f'forbidden AppArmor profile (annotation must not set AppArmor profile type to "{key}="unconfined"")'
    )


def test_every_check_has_a_first_version() -> None:
    """Versions beyond the newest mean the newest."""
    assert checks_of(LevelVersion("restricted", 99), BEHAVIOUR) == checks_of(STRICT, BEHAVIOUR)
    assert all(min(versions) >= 0 for table in (BASELINE, RESTRICTED) for versions in table.values())


def test_templates_are_found_where_kinds_keep_them() -> None:
    """A cron job's template is two templates deep."""
    job: dict[str, Any] = {"spec": {"jobTemplate": {"spec": {"template": {"spec": {}}}}}}
    assert template_of(GroupResource("batch", "cronjobs"), job) == {"spec": {}}
    assert template_of(GroupResource("", "configmaps"), {}) is None
    assert template_of(GroupResource("", "replicationcontrollers"), {"spec": {}}) is None
