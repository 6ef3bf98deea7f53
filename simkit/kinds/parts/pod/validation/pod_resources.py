"""Validation of the resources of a pod itself, against those of its containers.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from simkit.kinds.parts.pod.pod_resources import pod_limits, pod_requests
from simkit.kinds.parts.pod.resource_names import HUGE, SUPPORTED, is_pod_resource
from simkit.kinds.parts.pod.validation.resources import validate_resource
from simkit.kinds.parts.validation.resource_quantities import validate_resource_name
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, unsupported
from simkit.meta.objects import Object, at
from simkit.meta.resource_list import resource_list_of


def validate_pod_resources(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the ``resources`` of a pod spec."""
    resources, here = spec["resources"], f"{path}.resources"
    if at(spec, "os", "name") == "windows":
        yield forbidden_field(here, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield forbidden_field(f"{here}.claims", "claims may not be set for Resources at pod-level")
    yield from validate_resource(here, resources, name_check=_validate_name)
    yield from _validate_sums(here, spec)
    yield from _validate_limits(here, spec)


def _validate_name(path: str, name: str) -> Iterator[FieldError]:
    wrong = list(validate_resource_name(path, name))
    yield from wrong
    if not wrong and not is_pod_resource(name):
        yield unsupported(path, name, SUPPORTED)


def _validate_sums(path: str, spec: Object) -> Iterator[FieldError]:
    """Containers together may not ask for more than the pod."""
    inner = {"spec": {**spec, "resources": None}}
    for field, sums in (("requests", pod_requests(inner)), ("limits", pod_limits(inner))):
        own = resource_list_of(spec["resources"].get(field))
        for name, amount in sums.items():
            if name in own and amount.nano > own[name].nano and (field == "requests" or name.startswith(HUGE)):
                text = f"must be greater than or equal to aggregate container {field} of {amount}"
                yield invalid_value(f"{path}.{field}[{name}]", str(own[name]), text)


def _validate_limits(path: str, spec: Object) -> Iterator[FieldError]:
    own = resource_list_of(spec["resources"].get("limits"))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in resource_list_of(at(container, "resources", "limits")).items():
            if name in own and amount.nano > own[name].nano:
                text = f"must be less than or equal to pod limits of {own[name]}"
                yield invalid_value(f"{path}.containers[{index}][{name}].limits", str(amount), text)
