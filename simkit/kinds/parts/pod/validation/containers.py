"""Validation of init, ephemeral and regular containers.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.parts.pod.validation.environment import (
    VARIABLE,
    validate_env_from,
    validate_volume_devices,
    validate_volume_mounts,
)
from simkit.kinds.parts.pod.validation.resources import claim_names, validate_resource
from simkit.kinds.parts.pod.validation.security_context import validate_container_security
from simkit.kinds.parts.pod.validation.volumes import PULL_POLICIES
from simkit.kinds.parts.validation.ip import PORT, PORT_OR_NAME
from simkit.kinds.parts.validation.resource_quantities import bare
from simkit.kinds.rules import REQUIRED, Check, by, fields, first, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, duplicate, forbidden_field, invalid_value, missing, required, unsupported
from simkit.meta.name_validation import dns_label, port_name
from simkit.meta.objects import Object
from simkit.meta.wording import Text, Worded, Written

# Handlers, of which a probe and each event of a lifecycle has exactly one

_HEADER: Final = re.compile("[-A-Za-z0-9]+")
_HEADER_RULE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)


def _validate_headers(behaviour: ServedBehaviour, path: str, headers: Sequence[Object]) -> Errors:
    names = (header.get("name") or "" for header in headers)
    return (invalid_value(path, name, _HEADER_RULE) for name in names if not _HEADER.fullmatch(name))


_ACTIONS: Final[Mapping[str, Check]] = {
    "exec": row("command", REQUIRED),
    "httpGet": table(
        row("path", REQUIRED),
        row("port", PORT_OR_NAME, zero=0),
        row("scheme", must.be_one_of("HTTP", "HTTPS"), zero=""),
        row("httpHeaders", by(_validate_headers)),
    ),
    "tcpSocket": row("port", PORT_OR_NAME, zero=0),
    "grpc": row("port", PORT, zero=0),
    "sleep": table(),  # its limit is that of the pod
}


def _one_handler(*names: str) -> Check:
    def check(behaviour: ServedBehaviour, path: str, holder: Object) -> Errors:
        given = [name for name in names if holder.get(name) is not None]
        if not given:
            yield required(path, "must specify a handler type")
        for name in given[:1]:
            yield from placed(f"{path}.{name}", _ACTIONS[name](behaviour, holder[name]))
        for name in given[1:]:
            yield forbidden_field(f"{path}.{name}", "may not specify more than 1 handler type")

    return by(check)


_BEFORE_SLEEP: Final = ("exec", "httpGet", "tcpSocket")
_IN_LIFECYCLE: Final = _one_handler(*_BEFORE_SLEEP, "sleep")


def validate_lifecycle(behaviour: ServedBehaviour, path: str, lifecycle: Object | None, grace: int | None) -> Errors:
    """The errors of the handlers of a container's start and stop."""
    for name in ("postStart", "preStop"):
        handler = (lifecycle or {}).get(name)
        if handler is not None:
            yield from placed(f"{path}.{name}", _IN_LIFECYCLE(behaviour, handler))
            if handler.get("sleep") is not None and all(handler.get(other) is None for other in _BEFORE_SLEEP):
                yield from _validate_sleep(
                    behaviour, f"{path}.{name}.sleep", handler["sleep"].get("seconds") or 0, grace
                )


def _validate_sleep(behaviour: ServedBehaviour, path: str, seconds: int, grace: int | None) -> Errors:
    may_be_zero = behaviour.applies("sleep-of-zero-seconds")
    if grace is None or (0 if may_be_zero else 1) <= seconds <= grace:
        return
    least, end = "must be non-negative" if may_be_zero else "must be greater than 0", ""
    if not may_be_zero and behaviour.applies("sleep-error-names-gate"):
        end = ". Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
    yield invalid_value(path, seconds, f"{least} and less than terminationGracePeriodSeconds ({grace}){end}")


_TIMES: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROBE: Final = table(
    _one_handler("exec", "httpGet", "tcpSocket", "grpc"),
    *(row(time, must.be_nonnegative) for time in _TIMES),
)
_GRACE: Final = row("terminationGracePeriodSeconds", must.be_positive)
_NO_GRACE: Final = row("terminationGracePeriodSeconds", must.be_otherwise("must not be set for readinessProbes"))
_ONE_SUCCESS: Final = row("successThreshold", must.hold(lambda count: count == 1, "must be 1"), zero=0)
_PROBES: Final = table(
    row("livenessProbe", table(_PROBE, _GRACE, _ONE_SUCCESS)),
    row("readinessProbe", table(_PROBE, _GRACE, _NO_GRACE)),
    row("startupProbe", table(_PROBE, _GRACE, _ONE_SUCCESS)),
)
_READINESS: Final = row("readinessProbe", _PROBE)
_EARLY_PROBES: Final = table(
    row("livenessProbe", _PROBE),
    row("readinessProbe", _NO_GRACE),
    row("startupProbe", _PROBE),
    row("livenessProbe", _ONE_SUCCESS),
    row("startupProbe", _PROBE),
    row("startupProbe", _ONE_SUCCESS),
)
"""The probes before the readiness of a container, in the order of early releases: startup is looked at twice."""


# Restarts


def validate_resize_policy(behaviour: ServedBehaviour, path: str, container: Object, restart_policy: str) -> Errors:
    """The errors of the resize policies of a container in a pod with a restart policy."""
    seen: set[str] = set()
    for index, each in enumerate(container.get("resizePolicy") or ()):
        resource, policy = each.get("resourceName") or "", each.get("restartPolicy") or ""
        if resource in seen:
            yield duplicate(f"{path}[{index}]", bare(behaviour, resource))
        seen.add(resource)
        if not resource:
            yield required(path)
        elif resource not in ("cpu", "memory"):
            yield unsupported(path, bare(behaviour, resource), ("cpu", "memory"))
        yield from placed(path, _RESIZE_RESTART(behaviour, policy))
        if restart_policy == "Never" and policy != "NotRequired":
            pod = "pod " if behaviour.applies("resize-policy-error-names-pod") else ""
            yield invalid_value(path, policy, f"must be 'NotRequired' when {pod}`restartPolicy` is 'Never'")


_RESIZE_RESTART: Final = first(REQUIRED, must.be_one_of("NotRequired", "RestartContainer"))
_INIT_RESIZE: Final = table(
    row(
        "resizePolicy",
        must.be_otherwise("must not be set for init containers", partial(structures, "core.ContainerResizePolicy")),
        when=fields.given("resizePolicy"),
        until="resize-policy-of-init-containers",
    ),
    row(
        "resizePolicy[].restartPolicy",
        must.hold(
            lambda policy: policy != "RestartContainer",
            "must not be set to 'RestartContainer' for non-sidecar initContainers",
        ),
        unless=fields.equal("restartPolicy", "Always"),
        since="init-containers-restart-on-resize-refused",
    ),
)


def _counted(field: str, most: int) -> Check:
    """The check of the length of a list, which was told as that of a text first."""
    return table(
        row(field, must.have_at_most(most), since="restart-rules-counted"),
        row(field, must.be_no_longer_than(most), until="restart-rules-counted"),
    )


_RESTART_RULE: Final = table(
    row("action", must.be_one_of("Restart"), zero="", until="restart-of-all-containers"),
    row("action", must.be_one_of("Restart", "RestartAllContainers"), zero="", since="restart-of-all-containers"),
    row(
        "exitCodes",
        must.be_given("must be specified", pointer=True),
        table(row("operator", must.be_one_of("In", "NotIn"), zero=""), _counted("values", 255)),
    ),
)
_NEEDS_POLICY: Final = row(
    "restartPolicy",
    must.be_given("must specify restartPolicy when restart rules are used", pointer=True),
    when=fields.given("restartPolicyRules"),
)
_RESTARTS: Final = table(
    _NEEDS_POLICY,
    row("restartPolicy", must.be_one_of("Always", "Never", "OnFailure"), empty=True),
    _counted("restartPolicyRules", 20),
    row("restartPolicyRules[]", _RESTART_RULE),
)
_REGULAR_RESTARTS: Final = table(
    row("", _RESTARTS, since="container-restart-rules"),
    row(
        "restartPolicy",
        must.be_absent("may not be set for non-init containers", pointer=True),
        empty=True,
        until="container-restart-rules",
    ),
)


def _not_always(container: Object) -> bool:
    return container.get("restartPolicy") not in (None, "Always")


_INIT_RESTARTS: Final = table(
    _NEEDS_POLICY,
    row("restartPolicy", must.be_one_of("Always"), empty=True, until="container-restart-rules"),
    row(
        "",
        row("", _RESTARTS, when=fields.present("restartPolicy"), since="restart-of-all-containers"),
        row("", _RESTARTS, when=_not_always, until="restart-of-all-containers"),
        since="container-restart-rules",
    ),
    row(
        "restartPolicyRules",
        must.be_absent("restartPolicyRules are not allowed for init containers with restart policy Always"),
        when=fields.equal("restartPolicy", "Always"),
        since="container-restart-rules",
        until="restart-of-all-containers",
    ),
)

# Containers

Volumes = Mapping[str, Object]

_SIDECARS_ONLY: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_POINTERS: Final = ("restartPolicy", *_SIDECARS_ONLY)
_NOT_EPHEMERAL: Final = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)


def _none_of(names: Sequence[str], detail: Text) -> Check:
    """The check of fields that must not be set. What is behind a pointer counts as set even if it is empty."""
    plain, pointer = must.be_absent(detail), must.be_absent(detail, pointer=True)
    return table(*(row(name, pointer, empty=True) if name in _POINTERS else row(name, plain) for name in names))


_NOT_ALWAYS: Final = "may not be set for init containers without restartPolicy=Always"
_IN_NONE: Final = "may not be set for init containers"
_NO_SIDECAR: Final = _none_of(_SIDECARS_ONLY, Worded("init-containers-may-be-sidecars", _NOT_ALWAYS, _IN_NONE))
_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_ONLY_EPHEMERAL: Final = table(
    _none_of(_NOT_EPHEMERAL, _EPHEMERAL),
    row("volumeMounts[]", _none_of(("subPath", "subPathExpr"), _EPHEMERAL)),
)
_NAME: Final = row("name", REQUIRED, must.be(dns_label))
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_IDENTITY: Final = table(
    _NAME,
    row("image", REQUIRED),
    row("terminationMessagePolicy", REQUIRED, must.be_one_of(*_MESSAGE_POLICIES)),
)
_SOURCES: Final = table(row("env[]", VARIABLE), row("envFrom", by(validate_env_from)))
_PULL_POLICY: Final = row("imagePullPolicy", REQUIRED, must.be_one_of(*PULL_POLICIES))
IMAGE: Final = row(
    "image",
    must.hold(lambda image: image.strip() == image, "must not have leading or trailing whitespace"),
)
"""The check of the image of a container that is to run, and is not in a template."""


def validate_containers(behaviour: ServedBehaviour, path: str, spec: Object, volumes: Volumes) -> Errors:
    """The errors of regular containers."""
    containers = spec.get("containers") or ()
    if not containers:
        yield required(path)
        return
    names: set[str] = set()
    grace = spec.get("terminationGracePeriodSeconds")
    for index, container in enumerate(containers):
        at, name = f"{path}[{index}]", container.get("name") or ""
        if not behaviour.applies("kinds-of-containers-checked-apart"):
            yield from _validate_first(behaviour, at, container, volumes, spec, names)
            continue
        yield from _validate_common(behaviour, at, container, volumes, spec)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        yield from validate_lifecycle(behaviour, f"{at}.lifecycle", container.get("lifecycle"), grace)
        yield from placed(at, [*_PROBES(behaviour, container), *_REGULAR_RESTARTS(behaviour, container)])
    yield from validate_host_port(path, containers)


def _validate_first(
    behaviour: ServedBehaviour, path: str, container: Object, volumes: Volumes, spec: Object, names: set[str]
) -> Errors:
    """The errors of a container of any kind where all kinds are checked like regular ones first."""
    name, policy = container.get("name") or "", container.get("terminationMessagePolicy") or ""
    yield from placed(path, _NAME(behaviour, container))
    if name in names:
        yield duplicate(f"{path}.name", name)
    names.add(name)
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from validate_lifecycle(behaviour, f"{path}.lifecycle", container.get("lifecycle"), None)
    yield from placed(path, _EARLY_PROBES(behaviour, container))
    if policy not in _MESSAGE_POLICIES:
        where, text = f"{path}.terminationMessagePolicy", "must be 'File' or 'FallbackToLogsOnError'"
        yield invalid_value(where, policy, text) if policy else required(where, text)
    yield from placed(path, _READINESS(behaviour, container))
    yield from _validate_rest(behaviour, path, container, volumes, spec)


def _validate_early_init_containers(behaviour: ServedBehaviour, path: str, spec: Object, volumes: Volumes) -> Errors:
    """The errors of init containers where they are checked like regular ones first."""
    containers, own = spec.get("initContainers") or (), set[str]()
    for index, container in enumerate(containers):
        yield from _validate_first(behaviour, f"{path}[{index}]", container, volumes, spec, own)
    for container in containers:
        yield from validate_host_port(path, (container,))
    names = {one.get("name") or "" for one in spec.get("containers") or ()}
    for index, container in enumerate(containers):
        name = container.get("name") or ""
        if name in names:
            yield duplicate(f"{path}[{index}].name", name)
        if name:
            names.add(name)
        for field in _SIDECARS_ONLY:
            if container.get(field) is not None:
                shown = structure("core.Lifecycle" if field == "lifecycle" else "core.Probe", container[field])
                older = Written(partial(_unnamed_handlers, shown))
                text = Worded("probe-handlers-named", shown, older)
                yield invalid_value(f"{path}[{index}].{field}", text, "must not be set for init containers")


def _unnamed_handlers(shown: Written, behaviour: ServedBehaviour) -> str:
    return shown.told(behaviour).replace("ProbeHandler", "Handler").replace("LifecycleHandler", "Handler")


def validate_init_containers(behaviour: ServedBehaviour, path: str, spec: Object, volumes: Volumes) -> Errors:
    """The errors of init containers, of which restartable ones are sidecars."""
    if not behaviour.applies("kinds-of-containers-checked-apart"):
        yield from _validate_early_init_containers(behaviour, path, spec, volumes)
        return
    names = {one.get("name") or "" for one in spec.get("containers") or ()}
    grace = spec.get("terminationGracePeriodSeconds")
    for index, container in enumerate(spec.get("initContainers") or ()):
        at, name = f"{path}[{index}]", container.get("name") or ""
        yield from _validate_common(behaviour, at, container, volumes, spec)
        policy = container.get("restartPolicy")
        yield from placed(at, _INIT_RESTARTS(behaviour, container))
        if name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        yield from validate_host_port(path, (container,))
        if policy == "Always":
            yield from validate_lifecycle(behaviour, f"{at}.lifecycle", container.get("lifecycle"), grace)
            yield from placed(at, _PROBES(behaviour, container))
        else:
            yield from placed(at, _NO_SIDECAR(behaviour, container))
        yield from placed(at, _INIT_RESIZE(behaviour, container))


def validate_ephemeral_containers(behaviour: ServedBehaviour, path: str, spec: Object, volumes: Volumes) -> Errors:
    """The errors of ephemeral containers."""
    others = {one.get("name") for key in ("containers", "initContainers") for one in spec.get(key) or ()}
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        at, name = f"{path}[{index}]", container.get("name") or ""
        yield from _validate_common(behaviour, at, container, volumes, spec)
        yield from placed(at, IMAGE(behaviour, container))
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            yield missing(f"{at}.targetContainerName", target)
        yield from placed(at, _ONLY_EPHEMERAL(behaviour, container))


def _validate_common(
    behaviour: ServedBehaviour, path: str, container: Object, volumes: Volumes, spec: Object
) -> Errors:
    yield from placed(path, _IDENTITY(behaviour, container))
    yield from _validate_rest(behaviour, path, container, volumes, spec)


def _validate_rest(behaviour: ServedBehaviour, path: str, container: Object, volumes: Volumes, spec: Object) -> Errors:
    if "ports" in container:
        yield from _validate_ports(behaviour, f"{path}.ports", container["ports"] or ())
    yield from placed(path, _SOURCES(behaviour, container))
    if "volumeMounts" in container:
        yield from validate_volume_mounts(behaviour, f"{path}.volumeMounts", container, volumes)
    if "volumeDevices" in container:
        yield from validate_volume_devices(behaviour, f"{path}.volumeDevices", container, volumes)
    yield from placed(path, _PULL_POLICY(behaviour, container))
    if container.get("resources"):
        yield from validate_resource(behaviour, f"{path}.resources", container["resources"], claims=claim_names(spec))
    if "resizePolicy" in container:
        yield from validate_resize_policy(behaviour, f"{path}.resizePolicy", container, spec.get("restartPolicy") or "")
    context, host_users = container.get("securityContext"), spec.get("hostUsers") is not False
    yield from validate_container_security(behaviour, f"{path}.securityContext", context, host_users=host_users)


_PORT: Final = table(
    row("containerPort", REQUIRED, PORT),
    row("hostPort", PORT, when=fields.given("hostPort")),
    row("protocol", REQUIRED, must.be_one_of("SCTP", "TCP", "UDP")),
)


def _validate_ports(behaviour: ServedBehaviour, path: str, ports: Sequence[Object]) -> Errors:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name") or ""
        wrong = port_name(name) if name else ()
        yield from (invalid_value(f"{at}.name", name, text) for text in wrong)
        if name in names:
            yield duplicate(f"{at}.name", name)
        elif name and not wrong:
            names.add(name)
        yield from placed(at, _PORT(behaviour, port))


def validate_host_port(path: str, containers: Sequence[Object]) -> Errors:
    """The errors of duplicate host ports."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            place = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if place in taken:
                yield duplicate(f"{path}[{index}].ports[{number}].hostPort", place)
            taken.add(place)
