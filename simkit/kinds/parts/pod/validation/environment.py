"""Validation of environment variables, their sources, and the volumes that a container mounts.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from simkit.kinds.parts.pod.validation.security_context import every_container
from simkit.kinds.parts.validation.fields import DESCENDING, NO_BACKSTEPS, validate_key
from simkit.kinds.rules import REQUIRED, Check, by, fields, first, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, missing, required, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain, qualified_name
from simkit.meta.objects import Object, at
from simkit.meta.quantity import parse
from simkit.meta.wording import Text

ENVIRONMENT_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FILE_FIELDS: Final = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KNOWN: Final = frozenset(
    (*ENVIRONMENT_FIELDS, *FILE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase")
)
_RESOURCES: Final = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_UNITS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    ".cpu": ("cpu", ("1m", "1")),
    ".memory": ("memory", _UNITS),
    ".ephemeral-storage": ("local ephemeral storage", _UNITS),
    ".hugepages-": ("hugepages", _UNITS),
}


def field_reference(allowed: Sequence[str]) -> Check:
    """The check of a reference to a field of the pod, which must be among the allowed ones."""

    def check(behaviour: ServedBehaviour, path: str, reference: Object) -> Errors:
        version, field = reference["apiVersion"], reference["fieldPath"]
        subscript = _subscript(field)
        wrong = _unknown(version, field, subscript[0] if subscript else "")
        if wrong:
            yield invalid_value(f"{path}.fieldPath", field, f"error converting fieldPath: {wrong}")
        elif subscript:
            key = subscript[1].lower() if subscript[0] == "metadata.annotations" else subscript[1]
            yield from (invalid_value(path, key, text) for text in qualified_name(key))
        else:
            field = "spec.nodeName" if field == "spec.host" else field
            if field not in allowed:
                yield unsupported(f"{path}.fieldPath", field, allowed)

    return first(row("apiVersion", REQUIRED), row("fieldPath", REQUIRED), by(check))


def _unknown(version: str, field: str, subscripted: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        allowed = subscripted in ("metadata.annotations", "metadata.labels")
        return "" if allowed else f"field label does not support subscript: {field}"
    return "" if field in _KNOWN or field == "spec.host" else f"field label not supported: {field}"


def _validate_divisor(behaviour: ServedBehaviour, path: str, reference: Object) -> Errors:
    resource, amount = reference.get("resource") or "", parse(str(reference.get("divisor") or "0")).nano
    known = next((row for ending, row in _DIVISORS.items() if ending in resource), None)
    if not amount or known is None:
        return
    name, units = known
    if all(parse(unit).nano != amount for unit in units):
        listed = " and ".join(units) if len(units) == 2 else ", ".join(units)
        text = f"only divisor's values {listed} are supported with the {name} resource"
        yield invalid_value(f"{path}.divisor", resource, text)


def _is_huge(reference: Object) -> bool:
    return bool(reference["resource"].startswith(("limits.hugepages-", "requests.hugepages-")))


_RESOURCE: Final = table(
    row("resource", REQUIRED),
    row("resource", must.be_one_of(*_RESOURCES), unless=_is_huge),
)
RESOURCE_IN_VOLUME: Final = table(first(row("containerName", REQUIRED), _RESOURCE), by(_validate_divisor))
"""The check of a reference to a resource of a container, which must have a name."""


_KEY_OF_OBJECT: Final = table(row("name", must.be(dns_subdomain), zero=""), row("key", REQUIRED, by(validate_key)))


def _subscript(field: str) -> tuple[str, str] | None:
    """The path and the key of a text such as ``metadata.labels['a']``."""
    path, mark, rest = field.partition("['")
    return (path, rest[:-2]) if mark and rest.endswith("']") else None


_NAME: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_NAME_RULE: Final = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', "
    f"regex used for validation is '{_NAME}')"
)
_NAME_RE: Final = re.compile(_NAME)
_RELAXED_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_RELAXED_RE: Final = re.compile("[ -<>-~]*")
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def _strict_name(name: str) -> list[str]:
    wrong = [] if _NAME_RE.fullmatch(name) else [_NAME_RULE]
    if name in (".", ".."):
        wrong.append(f"must not be '{name}'")
    elif name.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


_VARIABLE_NAME: Final = table(
    row("", must.hold(_RELAXED_RE.fullmatch, _RELAXED_RULE), since="relaxed-environment-names"),
    row("", must.be(_strict_name), until="relaxed-environment-names"),
)
"""The check of the name of a variable."""


def _validate_sources(behaviour: ServedBehaviour, path: str, variable: Object) -> Errors:
    """The error of a variable that does not have exactly one value or source."""
    count = sum(variable["valueFrom"].get(name) is not None for name in _SOURCES)
    known = _SOURCES if behaviour.applies("environment-files") else _SOURCES[:-1]
    if not count:
        listed = f"{', '.join(f'`{name}`' for name in known[:-1])} or `{known[-1]}`"
        yield invalid_value(path, "", f"must specify one of: {listed}")
    elif variable.get("value"):
        yield invalid_value(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid_value(path, "", "may not have more than one field specified at a time")


_FILE_KEY: Final = table(
    row("key", REQUIRED, _VARIABLE_NAME),
    row("volumeName", REQUIRED, must.be(dns_label)),
    row("path", REQUIRED, NO_BACKSTEPS),
)
VARIABLE: Final = table(
    row("name", REQUIRED, _VARIABLE_NAME),
    row(
        "valueFrom",
        row("fieldRef", field_reference(ENVIRONMENT_FIELDS)),
        row("resourceFieldRef", table(_RESOURCE, by(_validate_divisor))),
        row("configMapKeyRef", _KEY_OF_OBJECT),
        row("secretKeyRef", _KEY_OF_OBJECT),
        row("fileKeyRef", _FILE_KEY),
    ),
    row(
        "",
        lambda behaviour, variable: placed(".valueFrom", _validate_sources(behaviour, "", variable)),
        when=fields.present("valueFrom"),
    ),
)
"""The check of one of the ``env`` of a container."""


def validate_file_volumes(path: str, spec: Object) -> Errors:
    """The errors of the volumes that variables are read from: each must be an empty directory."""
    volumes = {one.get("name"): one for one in reversed(spec.get("volumes") or ())}
    for place, container in every_container(path, spec):
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            where, name = f"{place}.env[{index}].valueFrom.fileKeyRef.volumeName", reference.get("volumeName") or ""
            if name not in volumes:
                yield missing(where, name)
            elif volumes[name].get("emptyDir") is None:
                yield invalid_value(where, name, "referenced volume must be of type emptyDir")


def _prefix_of_subdomain(name: str) -> Sequence[Text]:
    return dns_subdomain(name, prefix=True)


_ENV_FROM: Final = table(
    row("prefix", _VARIABLE_NAME),
    row("configMapRef", row("name", REQUIRED, must.be(_prefix_of_subdomain))),
    row("secretRef", row("name", REQUIRED, must.be(_prefix_of_subdomain))),
)


def validate_env_from(behaviour: ServedBehaviour, path: str, sources: Sequence[Object]) -> Errors:
    """The errors of the ``envFrom`` of a container; what is wrong with a whole source is told of the list."""
    for index, source in enumerate(sources):
        yield from placed(f"{path}[{index}]", _ENV_FROM(behaviour, source))
        count = sum(source.get(name) is not None for name in ("configMapRef", "secretRef"))
        if not count:
            yield invalid_value(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            yield invalid_value(path, "", "may not have more than one field specified at a time")


_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_TAKEN: Final = "must be unique"


def validate_volume_mounts(
    behaviour: ServedBehaviour, path: str, container: Object, volumes: Mapping[str, Object]
) -> Errors:
    """The errors of the ``volumeMounts`` of a container."""
    devices = container.get("volumeDevices") or ()
    device_names = {one.get("name") for one in devices}
    device_paths = {one.get("devicePath") for one in devices}
    taken: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        here = f"{path}[{index}]"
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield missing(f"{here}.name", name)
        if not place:
            yield required(f"{here}.mountPath")
        if place in taken:
            yield invalid_value(f"{here}.mountPath", place, _TAKEN)
        taken.add(place)
        if name in device_names:
            yield invalid_value(f"{here}.name", name, "must not already exist in volumeDevices")
        if place in device_paths:
            yield invalid_value(f"{here}.mountPath", place, "must not already exist as a path in volumeDevices")
        yield from _validate_inner(behaviour, path, here, mount)
        yield from _validate_propagation(f"{path}.mountPropagation", mount.get("mountPropagation"), container)
        yield from _validate_recursive(f"{path}.recursiveReadOnly", mount)


def _validate_recursive(path: str, mount: Object) -> Errors:
    mode = mount.get("recursiveReadOnly")
    if mode in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden_field(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            yield forbidden_field(path, "may only be specified when mountPropagation is None or not specified")
    elif mode not in (None, "Disabled"):
        yield unsupported(path, mode, ("Disabled", "Enabled", "IfPossible"))


def _validate_inner(behaviour: ServedBehaviour, path: str, here: str, mount: Object) -> Errors:
    """The errors of the path inside the volume. kube-apiserver names these fields without the index."""
    inner, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    if inner:
        yield from placed(f"{path}.subPath", DESCENDING(behaviour, inner))
    if expression:
        if inner:
            text = "subPathExpr and subPath are mutually exclusive"
            yield invalid_value(f"{here}.subPathExpr", expression, text)
        yield from placed(f"{path}.subPathExpr", DESCENDING(behaviour, expression))


def _validate_propagation(path: str, propagation: str | None, container: Object) -> Errors:
    if propagation is None:
        return
    if propagation not in _PROPAGATIONS:
        yield unsupported(path, propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not at(container, "securityContext", "privileged"):
        yield forbidden_field(path, "Bidirectional mount propagation is available only to privileged containers")


def validate_volume_devices(
    behaviour: ServedBehaviour, path: str, container: Object, volumes: Mapping[str, Object]
) -> Errors:
    """The errors of the ``volumeDevices`` of a container."""
    mounts = container.get("volumeMounts") or ()
    mount_names, mount_paths = {one.get("name") for one in mounts}, {one.get("mountPath") for one in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        here = f"{path}[{index}]"
        name, place = device.get("name") or "", device.get("devicePath") or ""
        yield from _validate_device_name(f"{here}.name", name, names, volumes)
        yield from _validate_device_path(behaviour, f"{here}.devicePath", place, paths)
        if name in mount_names:
            yield invalid_value(f"{here}.name", name, "must not already exist in volumeMounts")
        if place in mount_paths:
            yield invalid_value(f"{here}.devicePath", place, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _validate_device_name(path: str, name: str, taken: set[str], volumes: Mapping[str, Object]) -> Errors:
    if not name:
        yield required(path)
    if name in taken:
        yield invalid_value(path, name, _TAKEN)
    if name not in volumes:
        yield missing(path, name)
    elif not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
        text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid_value(path, name, text)


def _validate_device_path(behaviour: ServedBehaviour, path: str, place: str, taken: set[str]) -> Errors:
    if not place:
        yield required(path)
    if place in taken:
        yield invalid_value(path, place, _TAKEN)
    if NO_BACKSTEPS(behaviour, place):
        yield invalid_value(path, place, "can not contain backsteps ('..')")
    else:
        taken.add(place)
