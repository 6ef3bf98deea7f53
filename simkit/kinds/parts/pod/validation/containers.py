"""Validation of init, ephemeral and regular containers.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.environment import validate_env, validate_env_from
from simkit.kinds.parts.pod.validation.probes import (
    validate_lifecycle,
    validate_probe,
    validate_probes,
    validate_probes_first,
)
from simkit.kinds.parts.pod.validation.resize_policy import validate_init_resize_policy, validate_resize_policy
from simkit.kinds.parts.pod.validation.resource_claims import claim_names
from simkit.kinds.parts.pod.validation.resources import validate_resource
from simkit.kinds.parts.pod.validation.restart_policy import validate_init_restart_policy, validate_restart_policy
from simkit.kinds.parts.pod.validation.security_context import validate_container_security
from simkit.kinds.parts.pod.validation.volume_mounts import validate_volume_devices, validate_volume_mounts
from simkit.kinds.parts.pod.validation.volume_sources import PULL_POLICIES
from simkit.kinds.parts.validation.ip import PORT_RANGE
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import (
    FieldError,
    Shown,
    duplicate,
    forbidden_field,
    invalid_value,
    missing,
    required,
    unsupported,
)
from simkit.meta.name_validation import dns_label, port_name
from simkit.meta.objects import Object

Volumes = Mapping[str, Object]

_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_SIDECARS_ONLY: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_POINTERS: Final = ("restartPolicy", *_PROBES)
_NOT_EPHEMERAL: Final = ("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", *_PROBES)
_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_WHITESPACE: Final = "must not have leading or trailing whitespace"


def validate_containers(path: str, spec: Object, volumes: Volumes) -> Iterator[FieldError]:
    """The errors of regular containers."""
    containers = spec.get("containers") or ()
    if not containers:
        yield required(path)
        return
    names: set[str] = set()
    grace = spec.get("terminationGracePeriodSeconds")
    for index, container in enumerate(containers):
        at, name = f"{path}[{index}]", container.get("name") or ""
        if not applies("kinds-of-containers-checked-apart"):
            yield from _validate_first(at, container, volumes, spec, names)
            continue
        yield from _validate_common(at, container, volumes, spec)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        yield from validate_lifecycle(f"{at}.lifecycle", container.get("lifecycle"), grace)
        yield from validate_probes(at, container, grace)
        yield from validate_restart_policy(at, container)
    yield from validate_host_port(path, containers)


def _validate_first(
    path: str, container: Object, volumes: Volumes, spec: Object, names: set[str]
) -> Iterator[FieldError]:
    """The errors of a container of any kind where all kinds are checked like regular ones first.

    The startup probe is looked at twice.
    """
    name, policy = container.get("name") or "", container.get("terminationMessagePolicy") or ""
    yield from _validate_name(path, name)
    if name in names:
        yield duplicate(f"{path}.name", name)
    names.add(name)
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from validate_lifecycle(f"{path}.lifecycle", container.get("lifecycle"), None)
    yield from validate_probes_first(path, container)
    if policy not in _MESSAGE_POLICIES:
        where, text = f"{path}.terminationMessagePolicy", "must be 'File' or 'FallbackToLogsOnError'"
        yield invalid_value(where, policy, text) if policy else required(where, text)
    yield from validate_probe(f"{path}.readinessProbe", container.get("readinessProbe"))
    yield from _validate_rest(path, container, volumes, spec)


def _validate_early_init_containers(path: str, spec: Object, volumes: Volumes) -> Iterator[FieldError]:
    """The errors of init containers where they are checked like regular ones first."""
    containers, own = spec.get("initContainers") or (), set[str]()
    for index, container in enumerate(containers):
        yield from _validate_first(f"{path}[{index}]", container, volumes, spec, own)
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
                if not applies("probe-handlers-named"):
                    shown = Shown(shown.text.replace("ProbeHandler", "Handler").replace("LifecycleHandler", "Handler"))
                yield invalid_value(f"{path}[{index}].{field}", shown, "must not be set for init containers")


def validate_init_containers(path: str, spec: Object, volumes: Volumes) -> Iterator[FieldError]:
    """The errors of init containers, of which restartable ones are sidecars."""
    if not applies("kinds-of-containers-checked-apart"):
        yield from _validate_early_init_containers(path, spec, volumes)
        return
    names = {one.get("name") or "" for one in spec.get("containers") or ()}
    grace = spec.get("terminationGracePeriodSeconds")
    for index, container in enumerate(spec.get("initContainers") or ()):
        at, name = f"{path}[{index}]", container.get("name") or ""
        yield from _validate_common(at, container, volumes, spec)
        policy = container.get("restartPolicy")
        yield from validate_init_restart_policy(at, container)
        if name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        yield from validate_host_port(path, (container,))
        if policy == "Always":
            yield from validate_lifecycle(f"{at}.lifecycle", container.get("lifecycle"), grace)
            yield from validate_probes(at, container, grace)
        else:
            unless = " without restartPolicy=Always" if applies("init-containers-may-be-sidecars") else ""
            yield from _forbidden(at, container, _SIDECARS_ONLY, f"may not be set for init containers{unless}")
        yield from validate_init_resize_policy(f"{at}.resizePolicy", container)


def validate_ephemeral_containers(path: str, spec: Object, volumes: Volumes) -> Iterator[FieldError]:
    """The errors of ephemeral containers."""
    others = {one.get("name") for key in ("containers", "initContainers") for one in spec.get(key) or ()}
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        at, name = f"{path}[{index}]", container.get("name") or ""
        yield from _validate_common(at, container, volumes, spec)
        yield from validate_image(at, container)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            yield missing(f"{at}.targetContainerName", target)
        yield from _forbidden(at, container, _NOT_EPHEMERAL, _EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            yield from _forbidden(f"{at}.volumeMounts[{number}]", mount, ("subPath", "subPathExpr"), _EPHEMERAL)


def _forbidden(path: str, holder: Object, names: Sequence[str], text: str) -> Iterator[FieldError]:
    """The errors of forbidden fields. What is behind a pointer counts as set even if it is empty."""
    given = (name for name in names if holder.get(name) or (name in _POINTERS and holder.get(name) is not None))
    return (forbidden_field(f"{path}.{name}", text) for name in given)


def validate_image(path: str, container: Object) -> Iterator[FieldError]:
    """The errors of an image of a container that is to run, and is not in a template."""
    image = container.get("image") or ""
    if image.strip() != image:
        yield invalid_value(f"{path}.image", image, _WHITESPACE)


def _validate_common(path: str, container: Object, volumes: Volumes, spec: Object) -> Iterator[FieldError]:
    yield from _validate_name(path, container.get("name") or "")
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from _validate_choice(f"{path}.terminationMessagePolicy", container, _MESSAGE_POLICIES)
    yield from _validate_rest(path, container, volumes, spec)


def _validate_name(path: str, name: str) -> Iterator[FieldError]:
    if not name:
        yield required(f"{path}.name")
    else:
        yield from (invalid_value(f"{path}.name", name, text) for text in dns_label(name))


def _validate_rest(path: str, container: Object, volumes: Volumes, spec: Object) -> Iterator[FieldError]:
    if "ports" in container:
        yield from _validate_port(f"{path}.ports", container["ports"] or ())
    if "env" in container:
        yield from validate_env(f"{path}.env", container)
    if "envFrom" in container:
        yield from validate_env_from(f"{path}.envFrom", container)
    if "volumeMounts" in container:
        yield from validate_volume_mounts(f"{path}.volumeMounts", container, volumes)
    if "volumeDevices" in container:
        yield from validate_volume_devices(f"{path}.volumeDevices", container, volumes)
    yield from _validate_choice(f"{path}.imagePullPolicy", container, PULL_POLICIES)
    if container.get("resources"):
        yield from validate_resource(f"{path}.resources", container["resources"], claims=claim_names(spec))
    if "resizePolicy" in container:
        yield from validate_resize_policy(f"{path}.resizePolicy", container, spec.get("restartPolicy") or "")
    context, host_users = container.get("securityContext"), spec.get("hostUsers") is not False
    yield from validate_container_security(f"{path}.securityContext", context, host_users=host_users)


def _validate_choice(path: str, container: Object, choices: Sequence[str]) -> Iterator[FieldError]:
    value = container.get(path.rpartition(".")[2]) or ""
    if not value:
        yield required(path)
    elif value not in choices:
        yield unsupported(path, value, choices)


def _validate_port(path: str, ports: Sequence[Object]) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name") or ""
        if name:
            wrong = port_name(name)
            yield from (invalid_value(f"{at}.name", name, text) for text in wrong)
            if not wrong and name in names:
                yield duplicate(f"{at}.name", name)
            elif not wrong:
                names.add(name)
        yield from _validate_port_number(at, port)
        protocol = port.get("protocol") or ""
        if not protocol:
            yield required(f"{at}.protocol")
        elif protocol not in _PROTOCOLS:
            yield unsupported(f"{at}.protocol", protocol, _PROTOCOLS)


def _validate_port_number(path: str, port: Object) -> Iterator[FieldError]:
    for name in ("containerPort", "hostPort"):
        number = port.get(name) or 0
        if not number and name == "containerPort":
            yield required(f"{path}.{name}")
        elif number and not 1 <= number <= 65535:
            yield invalid_value(f"{path}.{name}", number, PORT_RANGE)


def validate_host_port(path: str, containers: Sequence[Object]) -> Iterator[FieldError]:
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
