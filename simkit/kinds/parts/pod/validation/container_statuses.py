"""Validation of what the status of a pod says about users and allocated resources of containers.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.pod.validation.security_context import validate_id
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    too_long,
    unsupported,
)
from simkit.meta.objects import Object, at

_LISTS: Final = (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers"))
_EPHEMERAL: Final = "ephemeralContainerStatuses"
_HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
_LONGEST_MESSAGE: Final = 1024
_CLAIM: Final = "claim:"
_OF_CLAIMS: Final = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
    "'claim:<claimName>' if request is empty"
)


def validate_container_statuses(status: Object, spec: Object) -> Iterator[FieldError]:
    """The errors of the users that containers run as, and of the resources that they got."""
    windows = at(spec, "os", "name") == "windows"
    user = "user.linux" if applies("error-of-container-user-names-user") else "linux"
    for name in (*(name for name, _ in _LISTS), _EPHEMERAL):
        for index, one in enumerate(status.get(name) or ()):
            path = f"status.{name}[{index}].{user}"
            yield from _validate_user(path, at(one, "user", "linux"), windows=windows)
    for name, containers in _LISTS:
        yield from _validate_allocated(f"status.{name}", status.get(name) or (), spec.get(containers) or ())
    for index, one in enumerate(status.get(_EPHEMERAL) or ()):
        if one.get("allocatedResourcesStatus"):
            path = f"status.{_EPHEMERAL}[{index}].allocatedResourcesStatus"
            yield forbidden_field(path, "must not be specified in container status")


def _validate_user(path: str, user: Object | None, *, windows: bool) -> Iterator[FieldError]:
    if user is None:
        return
    if windows:
        yield forbidden_field(path, "cannot be set for a windows pod")
        return
    yield from validate_id(f"{path}.uid", user.get("uid") or 0)
    yield from validate_id(f"{path}.gid", user.get("gid") or 0)
    for index, group in enumerate(user.get("supplementalGroups") or ()):
        yield from validate_id(f"{path}.supplementalGroups[{index}]", group)


def _validate_allocated(path: str, statuses: Sequence[Object], containers: Sequence[Object]) -> Iterator[FieldError]:
    by_name = {one.get("name"): one for one in reversed(containers)}
    for index, status in enumerate(statuses):
        container = by_name.get(status.get("name"))
        for number, one in enumerate(status.get("allocatedResourcesStatus") or ()):
            here = f"{path}[{index}].allocatedResourcesStatus[{number}]"
            if container is not None:
                yield from _validate_resource_name(f"{here}.name", one.get("name") or "", container)
            yield from _validate_health(f"{here}.resources", one.get("resources") or ())


def _validate_resource_name(path: str, name: str, container: Object) -> Iterator[FieldError]:
    knows_claims = applies("claims-in-allocated-resources")
    if not knows_claims or not name.startswith(_CLAIM):
        if name not in (at(container, "resources", "requests") or {}):
            word = "requests" if knows_claims else "requirements"
            yield invalid_value(path, name, f"must match one of the container's resource {word}")
        return
    claims = at(container, "resources", "claims") or ()
    known = {"/".join(filter(None, (one.get("name"), one.get("request")))) for one in claims}
    if name.removeprefix(_CLAIM) not in known:
        yield invalid_value(path, name, _OF_CLAIMS)


def _validate_health(path: str, resources: Sequence[Object]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, one in enumerate(resources):
        here, message, identifier = f"{path}[{index}]", one.get("message"), one.get("resourceID") or ""
        if (one.get("health") or "") not in _HEALTH:
            yield unsupported(f"{here}.health", one.get("health") or "", _HEALTH)
        if message == "":
            yield required(f"{here}.message", "must be non-empty if specified")
        elif message is not None and len(message) > _LONGEST_MESSAGE:
            yield too_long(f"{here}.message", _LONGEST_MESSAGE)
        if identifier in seen:
            yield duplicate(f"{here}.resourceID", identifier)
        seen.add(identifier)
