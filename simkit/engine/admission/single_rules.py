"""Admission plugins with one rule for any kind of object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from simkit.engine.admission.plugin_attributes import PODS, SERVICES, WRITES, Handler, admission_forbidden, written
from simkit.meta.attributes import Attributes
from simkit.meta.fielderror import quoted
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at, metadata
from simkit.schema.catalogue import Catalogue
from simkit.seams import OPERATIONS, Authorizer, Review

# AlwaysAdmit and AlwaysDeny, for tests.
# Upstream: plugin/pkg/admission/admit and plugin/pkg/admission/deny, release 1.30.


class AlwaysAdmit(Handler, operations=OPERATIONS):
    """Admits every request."""

    def validate(self, review: Review) -> None:
        """Accept it."""


class AlwaysDeny(Handler, operations=OPERATIONS):
    """Denies every request."""

    def mutate(self, review: Review) -> Object:
        """Raises 403."""
        self.validate(review)
        return written(review)

    def validate(self, review: Review) -> None:
        """Raises 403."""
        raise admission_forbidden(review, "admission control is denying all modifications")


# DenyServiceExternalIPs refuses new externalIPs of Services.
# Upstream: plugin/pkg/admission/network/denyserviceexternalips, release 1.30.


class DenyServiceExternalIPs(Handler, operations=WRITES, resources={SERVICES}):
    """Admits Services that add no external address."""

    def validate(self, review: Review) -> None:
        """Raises 403 for an added address."""
        wanted = set(at(written(review), "spec", "externalIPs") or ())
        if not review.subresource and not wanted <= set(at(review.old, "spec", "externalIPs") or ()):
            raise admission_forbidden(review, "Use of external IPs is denied by admission control")


# OwnerReferencesPermissionEnforcement requires the right to delete an object whose owner references change.
# Upstream: plugin/pkg/admission/gc, release 1.30.

_EXEMPT: Final = frozenset({(PODS, "status")})
_CANNOT_BLOCK: Final = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set"


class OwnerReferencesPermissionEnforcement(Handler, operations=WRITES):
    """Checks changed owner references, and blockOwnerDeletion on their owners."""

    def __init__(self, authorizer: Authorizer, catalogue: Callable[[], Catalogue]) -> None:
        self._authorizer, self._catalogue = authorizer, catalogue

    def validate(self, review: Review) -> None:
        """Raises 403 for a user who may not delete the object, or not update the owner's finalizers."""
        if (review.resource, review.subresource) in _EXEMPT:
            return
        owners, before = _owners(written(review)), _owners(review.old or {})
        if owners == before:
            return
        if review.operation != "CREATE":
            self._ask(review, self._deletion(review), "cannot set an ownerRef on a resource you can't delete")
        for owner in _newly_blocked(owners, before):
            self._ask(review, self._finalizers(review, owner), f"{_CANNOT_BLOCK} finalizers on")

    def _ask(self, review: Review, ask: Attributes, why: str) -> None:
        decision = self._authorizer.authorize(ask)
        if not decision.allowed:
            raise admission_forbidden(review, f"{why}: {decision.reason}, {decision.error or '<nil>'}")

    def _deletion(self, review: Review) -> Attributes:
        group, resource = review.resource
        return Attributes(
            *(review.identity, "delete", group, review.version, resource, review.subresource),
            review.namespace,
            review.name,
        )

    def _finalizers(self, review: Review, owner: Mapping[str, Any]) -> Attributes:
        group, version = GroupVersion.parse(owner.get("apiVersion", ""))
        found = self._catalogue().kind(GroupVersionKind(group, version, owner.get("kind", "")))
        if found is None:
            where = f"APIVersion {owner.get('apiVersion', '')} Kind {owner.get('kind', '')}"
            shown = (
                f"no matches for kind {quoted(owner.get('kind', ''))} in version {quoted(owner.get('apiVersion', ''))}"
            )
            why = f"cannot set blockOwnerDeletion in this case because cannot find RESTMapping for {where}"
            raise admission_forbidden(review, f"{why}: {shown}")
        namespace = review.namespace if found.namespaced else ""
        return Attributes(
            *(review.identity, "update", group, version, found.resource, "finalizers", namespace), owner.get("name", "")
        )


def _owners(obj: Object) -> list[Mapping[str, Any]]:
    return list(metadata(obj).get("ownerReferences") or ())


def _newly_blocked(owners: list[Mapping[str, Any]], before: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    blocked = {owner.get("uid") for owner in before if owner.get("blockOwnerDeletion")}
    for owner in owners:
        if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocked:
            yield owner
