"""Validation of environment variables and their sources.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.pod.validation.operating_system import every_container
from simkit.kinds.parts.pod.validation.paths import validate_no_backsteps
from simkit.kinds.parts.pod.validation.references import (
    ENVIRONMENT_FIELDS,
    validate_field,
    validate_key_reference,
    validate_resource,
)
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value, missing, required
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object

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


def name_texts(name: str) -> list[str]:
    """The errors of the name of a variable."""
    if applies("relaxed-environment-names"):
        return [] if _RELAXED_RE.fullmatch(name) else [_RELAXED_RULE]
    wrong = [] if _NAME_RE.fullmatch(name) else [_NAME_RULE]
    if name in (".", ".."):
        wrong.append(f"must not be '{name}'")
    elif name.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


def validate_env(path: str, container: Object) -> Iterator[FieldError]:
    """The errors of the ``env`` of a container."""
    for index, variable in enumerate(container.get("env") or ()):
        at, name = f"{path}[{index}]", variable.get("name") or ""
        if not name:
            yield required(f"{at}.name")
        else:
            yield from (invalid_value(f"{at}.name", name, text) for text in name_texts(name))
        if variable.get("valueFrom") is not None:
            yield from _validate_source(f"{at}.valueFrom", variable["valueFrom"], variable.get("value") or "")


def _validate_source(path: str, source: Object, value: str) -> Iterator[FieldError]:
    if source.get("fieldRef") is not None:
        yield from validate_field(f"{path}.fieldRef", source["fieldRef"], ENVIRONMENT_FIELDS)
    if source.get("resourceFieldRef") is not None:
        yield from validate_resource(f"{path}.resourceFieldRef", source["resourceFieldRef"], in_volume=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if source.get(name) is not None:
            yield from validate_key_reference(f"{path}.{name}", source[name])
    if source.get("fileKeyRef") is not None:
        yield from _validate_file_key(f"{path}.fileKeyRef", source["fileKeyRef"])
    count = sum(source.get(name) is not None for name in _SOURCES)
    if not count:
        yield invalid_value(path, "", f"must specify one of: {_listed()}")
    elif value:
        yield invalid_value(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid_value(path, "", "may not have more than one field specified at a time")


def _listed() -> str:
    known = _SOURCES if applies("environment-files") else _SOURCES[:-1]
    return f"{', '.join(f'`{name}`' for name in known[:-1])} or `{known[-1]}`"


def _validate_file_key(path: str, reference: Object) -> Iterator[FieldError]:
    key, volume, file = (reference.get(name) or "" for name in ("key", "volumeName", "path"))
    if not key:
        yield required(f"{path}.key")
    else:
        yield from (invalid_value(f"{path}.key", key, text) for text in name_texts(key))
    if not volume:
        yield required(f"{path}.volumeName")
    else:
        yield from (invalid_value(f"{path}.volumeName", volume, text) for text in dns_label(volume))
    if not file:
        yield required(f"{path}.path")
    else:
        yield from validate_no_backsteps(f"{path}.path", file)


def validate_file_volumes(path: str, spec: Object) -> Iterator[FieldError]:
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


def validate_env_from(path: str, container: Object) -> Iterator[FieldError]:
    """The errors of the ``envFrom`` of a container."""
    for index, source in enumerate(container.get("envFrom") or ()):
        at, prefix = f"{path}[{index}]", source.get("prefix") or ""
        if prefix:
            yield from (invalid_value(f"{at}.prefix", prefix, text) for text in name_texts(prefix))
        present = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in present:
            called = source[name].get("name") or ""
            if not called:
                yield required(f"{at}.{name}.name")
            else:
                wrong = dns_subdomain(called, prefix=True)
                yield from (invalid_value(f"{at}.{name}.name", called, text) for text in wrong)
        if not present:
            yield invalid_value(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(present) > 1:
            yield invalid_value(path, "", "may not have more than one field specified at a time")
