"""Validation of a pod spec, in the order of kube-apiserver.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.pod.validation.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from simkit.kinds.parts.pod.validation.environment import validate_file_volumes
from simkit.kinds.parts.pod.validation.resources import (
    validate_overhead,
    validate_pod_resources,
    validate_resource_claims,
)
from simkit.kinds.parts.pod.validation.scheduling import AFFINITY, TOLERATION, validate_topology_spread_constraints
from simkit.kinds.parts.pod.validation.security_context import (
    validate_host_process,
    validate_host_users,
    validate_operating_system,
    validate_pod_security,
)
from simkit.kinds.parts.pod.validation.volumes import validate_volumes
from simkit.kinds.parts.validation.ip import SHORT_ADDRESS, validate_ip
from simkit.kinds.parts.validation.object_meta import QUALIFIED, validate_labels
from simkit.kinds.rules import REQUIRED, Check, by, distinct, fields, first, items, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, duplicate, invalid_value
from simkit.meta.name_validation import dns_label, dns_subdomain, dns_subdomain_with_underscore
from simkit.meta.objects import Object


def _few(most: int, longest: int) -> Check:
    """The check of the number of search domains, and of their length together."""
    return table(
        must.hold(lambda given: len(given) <= most, f"must not have more than {most} search paths", texts),
        must.hold(
            lambda given: len(" ".join(given)) <= longest,
            f"must not have more than {longest} characters (including spaces) in the search list",
            texts,
        ),
    )


def _validate_search(behaviour: ServedBehaviour, path: str, search: str) -> Errors:
    domain, relaxed = search.removesuffix("."), behaviour.applies("relaxed-dns-searches")
    if relaxed and search == ".":
        return
    wrong = dns_subdomain_with_underscore(domain) if relaxed else dns_subdomain(domain)
    yield from (invalid_value(path, domain, text) for text in wrong)


_WITHOUT: Final = fields.equal("dnsPolicy", "None")
_DNS: Final = first(
    row("dnsConfig", must.be_given("must provide `dnsConfig` when `dnsPolicy` is None", pointer=True), when=_WITHOUT),
    row(
        "dnsConfig.nameservers",
        must.be_given("must provide at least one DNS nameserver when `dnsPolicy` is None"),
        when=_WITHOUT,
    ),
    row(
        "dnsConfig",
        row(
            "nameservers",
            table(
                must.hold(lambda given: len(given) <= 3, "must not have more than 3 nameservers", texts),
                items(by(partial(validate_ip, formerly=SHORT_ADDRESS))),
            ),
        ),
        row("searches", _few(32, 2048), since="more-dns-searches"),
        row("searches", _few(6, 256), until="more-dns-searches"),
        row("searches[]", by(_validate_search)),
        row("options[]", row("", must.be_set("must not be empty"), unless=fields.given("name"))),
    ),
)


RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")


def validate_pod_spec(behaviour: ServedBehaviour, path: str, spec: Object, pod: Object | None) -> Errors:
    """All errors of a pod spec; ``pod`` is its object, None for a template."""
    volume_errors, volumes = validate_volumes(behaviour, f"{path}.volumes", spec, pod)
    yield from placed(path, _GRACE_PERIOD(behaviour, spec))
    yield from volume_errors
    if "resourceClaims" in spec:
        yield from validate_resource_claims(f"{path}.resourceClaims", spec, pod)
    yield from validate_containers(behaviour, f"{path}.containers", spec, volumes)
    if "initContainers" in spec:
        yield from validate_init_containers(behaviour, f"{path}.initContainers", spec, volumes)
    if "ephemeralContainers" in spec:
        yield from validate_ephemeral_containers(behaviour, f"{path}.ephemeralContainers", spec, volumes)
    if spec.get("resources") is not None and behaviour.applies("pod-level-resources"):
        yield from validate_pod_resources(behaviour, path, spec)
    told_early = behaviour.applies("host-ports-told")
    if spec.get("hostNetwork") and told_early:
        yield from _validate_host_network(behaviour, f"{path}.containers", spec, strict=pod is not None)
    yield from placed(path, _POLICIES(behaviour, spec))
    if spec.get("hostNetwork") and not told_early:
        yield from _validate_host_network(behaviour, f"{path}.containers", spec, strict=True)
    yield from validate_pod_security(behaviour, f"{path}.securityContext", spec)
    yield from placed(path, _AFFINITY(behaviour, spec))
    yield from placed(path, _DNS(behaviour, spec))
    yield from placed(path, _GATES(behaviour, spec))
    if spec.get("topologySpreadConstraints"):
        yield from validate_topology_spread_constraints(
            behaviour, f"{path}.topologySpreadConstraints", spec["topologySpreadConstraints"]
        )
    yield from validate_host_process(path, spec)
    yield from validate_host_users(behaviour, path, spec)
    yield from placed(path, _NAMES(behaviour, spec))
    yield from _validate_late(behaviour, path, spec)


def _validate_host_network(behaviour: ServedBehaviour, path: str, spec: Object, *, strict: bool) -> Errors:
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            ports = {name: port.get(name) or 0 for name in ("hostPort", "containerPort")}
            if (strict or ports["hostPort"]) and ports["hostPort"] != ports["containerPort"]:
                wrong, other = ports if behaviour.applies("host-ports-told") else reversed(ports)
                text = f"must match `{other}` when `hostNetwork` is true"
                yield invalid_value(f"{path}[{index}].ports[{number}].{wrong}", ports[wrong], text)


_GRACE_PERIOD: Final = row("terminationGracePeriodSeconds", must.be_given(pointer=True), since="grace-period-required")
_POLICIES: Final = table(
    row("restartPolicy", REQUIRED, must.be_one_of(*RESTART_POLICIES)),
    row("dnsPolicy", REQUIRED, must.be_one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")),
    row("nodeSelector", by(validate_labels)),
)
_AFFINITY: Final = row("affinity", AFFINITY)


def _name_of_gate(behaviour: ServedBehaviour, path: str, gate: Object) -> Iterable[FieldError]:
    return placed(path, QUALIFIED(behaviour, gate.get("name") or ""))


_GATES: Final = table(
    row("readinessGates[]", row("conditionType", QUALIFIED, zero="")),
    row("schedulingGates[]", by(_name_of_gate), distinct("name", lambda _, name: duplicate("", name))),
)
_NAMES: Final = table(
    *(
        row(
            "hostnameOverride",
            must.be_refused(f"may not be specified when {other} is true"),
            when=fields.given(other),
            empty=True,
        )
        for other in ("setHostnameAsFQDN", "hostNetwork")
    ),
    row("hostnameOverride", table(must.be_no_longer_than(64), must.be(dns_subdomain)), empty=True),
    row("serviceAccountName", must.be(dns_subdomain)),
    row("nodeName", must.be(dns_subdomain)),
    row("activeDeadlineSeconds", must.be_between(1, 2**31 - 1)),
    row("hostname", must.be(dns_label)),
    row("subdomain", must.be(dns_label)),
    row("tolerations[]", TOLERATION),
)
_CLASSES: Final = table(
    row("priorityClassName", must.be(dns_subdomain)),
    row("runtimeClassName", must.be(dns_subdomain), empty=True),
    row("preemptionPolicy", REQUIRED, when=fields.present("preemptionPolicy")),
    row("preemptionPolicy", must.be_one_of("PreemptLowerPriority", "Never")),
    row("overhead", by(validate_overhead), when=fields.given("overhead")),
)


def _validate_late(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from _validate_alias(behaviour, f"{path}.hostAliases", index, alias)
    yield from placed(path, _CLASSES(behaviour, spec))
    if spec.get("os") is not None:
        yield from validate_operating_system(path, spec)
    if spec.get("schedulingGroup") is not None:
        yield from _validate_scheduling_group(f"{path}.schedulingGroup.podGroupName", spec["schedulingGroup"])
    yield from validate_file_volumes(path, spec)


def _validate_scheduling_group(path: str, group: Object) -> Errors:
    name = group.get("podGroupName")
    if name is None:
        yield invalid_value(path, None, "must specify one of: `podGroupName`")
    else:
        yield from (invalid_value(path, name, text) for text in dns_subdomain(name))


def _validate_alias(behaviour: ServedBehaviour, path: str, index: int, alias: Any) -> Errors:
    placed = behaviour.applies("addresses-told-alike")
    at = f"{path}[{index}]" if placed else path
    yield from validate_ip(behaviour, f"{at}.ip", alias.get("ip") or "", formerly=SHORT_ADDRESS)
    for number, name in enumerate(alias.get("hostnames") or ()):
        where = f"{at}.hostnames[{number}]" if placed else f"{at}.hostnames"
        yield from (invalid_value(where, name, text) for text in dns_subdomain(name))
