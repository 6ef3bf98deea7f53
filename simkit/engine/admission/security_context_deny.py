"""SecurityContextDeny refuses certain security context fields of pods; releases up to 1.29 have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, admission_forbidden, written
from simkit.engine.seams import Operation, Review
from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of

_OF_POD: Final = ("supplementalGroups", "seLinuxOptions", "runAsUser", "fsGroup")
_OF_CONTAINER: Final = ("seLinuxOptions", "runAsUser")


class SecurityContextDeny:
    """Checks the security contexts of pods and of their containers."""

    name = "SecurityContextDeny"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def validate(self, review: Review) -> None:
        """Raises 403 for the first forbidden field."""
        said = next(_said(written(review)), "") if not review.subresource else ""
        if said:
            raise admission_forbidden(review, f"{said} is forbidden")


def _said(pod: Object) -> Iterator[str]:
    context = at(pod, "spec", "securityContext") or {}
    yield from (f"pod.Spec.SecurityContext.{_go(name)}" for name in _OF_POD if context.get(name) is not None)
    for container in containers_of(pod.get("spec") or {}):
        own = container.get("securityContext") or {}
        yield from (f"SecurityContext.{_go(name)}" for name in _OF_CONTAINER if own.get(name) is not None)


def _go(name: str) -> str:
    """The Go name of the field."""
    return (
        "SELinuxOptions" if name == "seLinuxOptions" else "FSGroup" if name == "fsGroup" else name[0].upper() + name[1:]
    )
