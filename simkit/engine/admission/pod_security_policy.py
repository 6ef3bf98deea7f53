"""The pod security plugins of older releases: PodSecurityPolicy and SecurityContextDeny."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, Handler, admission_forbidden, written
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of
from simkit.seams import Reader, Review
from simkit.seams.caveats import NOT_HELD

_POLICIES: Final = GroupResource("policy", "podsecuritypolicies")


class PodSecurityPolicy(Handler, operations=WRITES, resources={PODS}):
    """Warns where pod security policies are stored, since pods are not held to them. Releases up to 1.24 have it."""

    def __init__(self, store: Reader) -> None:
        self._store = store

    def validate(self, review: Review) -> None:
        """Add the warning that the policies were not evaluated."""
        if not review.subresource and any(True for _ in self._store.scan(_POLICIES, limit=1)):
            review.warnings.append(NOT_HELD)


# SecurityContextDeny refuses certain security context fields of pods; releases up to 1.29 have it

_OF_POD: Final = ("supplementalGroups", "seLinuxOptions", "runAsUser", "fsGroup")
_OF_CONTAINER: Final = ("seLinuxOptions", "runAsUser")


class SecurityContextDeny(Handler, operations=WRITES, resources={PODS}):
    """Checks the security contexts of pods and of their containers."""

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
