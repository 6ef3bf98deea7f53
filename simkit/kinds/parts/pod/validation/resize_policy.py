"""Validation of what happens to a container when its resources change.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.go_printing.structures import structures
from simkit.kinds.parts.validation.resource_quantities import bare
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, unsupported
from simkit.meta.objects import Object

_RESOURCES: Final = ("cpu", "memory")
_POLICIES: Final = ("NotRequired", "RestartContainer")


def validate_resize_policy(path: str, container: Object, restart_policy: str) -> Iterator[FieldError]:
    """The errors of the resize policies of a container in a pod with a restart policy."""
    seen: set[str] = set()
    for index, each in enumerate(container.get("resizePolicy") or ()):
        resource, policy = each.get("resourceName") or "", each.get("restartPolicy") or ""
        if resource in seen:
            yield duplicate(f"{path}[{index}]", bare(resource))
        seen.add(resource)
        for value, shown, choices in ((resource, bare(resource), _RESOURCES), (policy, policy, _POLICIES)):
            if not value:
                yield required(path)
            elif value not in choices:
                yield unsupported(path, shown, choices)
        if restart_policy == "Never" and policy != "NotRequired":
            pod = "pod " if applies("resize-policy-error-names-pod") else ""
            yield invalid_value(path, policy, f"must be 'NotRequired' when {pod}`restartPolicy` is 'Never'")


def validate_init_resize_policy(path: str, container: Object) -> Iterator[FieldError]:
    """The errors of the resize policies that an init container may not have."""
    policies = container.get("resizePolicy") or ()
    if policies and not applies("resize-policy-of-init-containers"):
        shown = structures("core.ContainerResizePolicy", policies)
        yield invalid_value(path, shown, "must not be set for init containers")
    if container.get("restartPolicy") == "Always" or not applies("init-containers-restart-on-resize-refused"):
        return
    for index, each in enumerate(policies):
        if each.get("restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid_value(f"{path}[{index}].restartPolicy", "RestartContainer", text)
