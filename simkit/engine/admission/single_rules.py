"""Admission plugins with one rule each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from simkit.client.resources import PODS, SERVICES
from simkit.engine.admission.plugin_attributes import WRITES, Handler, admission_forbidden, with_spec, written
from simkit.meta.attributes import Attributes
from simkit.meta.fielderror import quoted, unsupported
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at, metadata
from simkit.meta.podspec import CONTAINER_LISTS, containers_of
from simkit.schema.catalogue import Catalogue
from simkit.seams import OPERATIONS, Authorizer, Reader, Review
from simkit.seams.caveats import NOT_HELD

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


# AlwaysPullImages sets the pull policy of every container to Always.
# Upstream: plugin/pkg/admission/alwayspullimages, release 1.30.


class AlwaysPullImages(Handler, operations=WRITES, resources={PODS}):
    """Admits pods whose images are new."""

    def mutate(self, review: Review) -> Object:
        """The pod with the pull policy ``Always`` in every container."""
        pod = written(review)
        if _ignored(review):
            return pod
        changed: dict[str, Any] = {}
        for field in CONTAINER_LISTS:
            present = at(pod, "spec", field)
            if present:
                changed[field] = [{**container, "imagePullPolicy": "Always"} for container in present]
        return with_spec(pod, **changed)

    def validate(self, review: Review) -> None:
        """Raises 403 if a later plugin changed a pull policy."""
        if _ignored(review):
            return
        for field in CONTAINER_LISTS:
            for index, container in enumerate(at(written(review), "spec", field) or ()):
                policy = container.get("imagePullPolicy", "")
                if policy != "Always":
                    path = f"spec.{field}[{index}].imagePullPolicy"
                    raise admission_forbidden(review, unsupported(path, policy, ["Always"]).told(review.behaviour))


def _ignored(review: Review) -> bool:
    if review.subresource:
        return True
    return review.operation == "UPDATE" and _images(written(review)) <= _images(review.old or {})


def _images(pod: Mapping[str, Any]) -> set[str]:
    return {each.get("image", "") for each in containers_of(pod.get("spec") or {})}


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
