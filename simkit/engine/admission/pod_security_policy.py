"""The pod security plugins of older releases: PodSecurityPolicy and SecurityContextDeny."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, Handler, admission_forbidden, written
from simkit.logic.podsecuritypolicy.evaluate import defaulted, is_usable, problems
from simkit.meta.attributes import Attributes
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group, label
from simkit.meta.errors import StatusError
from simkit.meta.fielderror import FieldError
from simkit.meta.identity import Identity, service_account
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, metadata, name_of, with_metadata
from simkit.meta.podspec import containers_of
from simkit.seams import Authorizer, Reader, Review

# PodSecurityPolicy holds pods to a policy that their user or their service account may use.
# Upstream: plugin/pkg/admission/security/podsecuritypolicy, release 1.24; removed in 1.25, never on by default.

POLICIES: Final = GroupResource("policy", "podsecuritypolicies")
CHOSEN: Final = label("psp")
"""The annotation of a pod that names the policy which admitted it."""
_GROUPS: Final = ("policy", "extensions")
"""The groups in which the right to use a policy may have been granted."""
_AUDIT: Final = f"podsecuritypolicy.{api_group('policy')}"
_COLLECTOR_FIELDS: Final = ("ownerReferences", "finalizers", "selfLink", "managedFields")


class PodSecurityPolicy(Handler, operations=WRITES, resources={PODS}):
    """Admits pods that a usable policy allows, and sets what the policy demands of new ones."""

    def __init__(self, store: Reader, authorizer: Authorizer) -> None:
        self._store, self._authorizer = store, authorizer

    def mutate(self, review: Review) -> Object:
        """A new pod as a policy would have it; policies that change nothing come before others, by name.

        Raises 403 if no policy that may be used admits it. O(policies), as in kube-apiserver.
        """
        pod = written(review)
        if review.operation != "CREATE" or review.subresource:
            return pod
        refused: dict[str, Sequence[FieldError]] = {}
        changed: tuple[Object, Object] | None = None
        for policy in self._policies(review):
            made = defaulted(policy, pod)
            errors = problems(review.behaviour, policy, made)
            if errors:
                refused[name_of(policy)] = errors
            elif made is pod and self._may_use(review, name_of(policy)):
                return _marked(review, pod, policy)
            elif changed is None and self._may_use(review, name_of(policy)):
                changed = made, policy
        if changed is None:
            raise self._refusal(review, "admit", refused)
        return _marked(review, *changed)

    def validate(self, review: Review) -> None:
        """Raises 403 for a pod that no policy admits as it is now."""
        pod = written(review)
        if review.subresource or (review.operation == "UPDATE" and _is_for_collector(pod, review.old or {})):
            return
        refused: dict[str, Sequence[FieldError]] = {}
        for policy in self._policies(review, first=annotations_of(pod).get(CHOSEN)):
            made = defaulted(policy, pod)
            errors = problems(review.behaviour, policy, made)
            if errors:
                refused[name_of(policy)] = errors
            elif made is pod and self._may_use(review, name_of(policy)):
                review.annotations[f"{_AUDIT}/validate-policy"] = name_of(policy)
                return
        raise self._refusal(review, "validate", refused)

    def _policies(self, review: Review, first: str | None = None) -> list[Object]:
        found = [entry.object for entry in self._store.scan(POLICIES) if is_usable(entry.object)]
        if not found:
            raise admission_forbidden(review, _told(review.behaviour, "no providers available to validate pod request"))
        return sorted(found, key=lambda policy: (name_of(policy) != first, name_of(policy)))

    def _may_use(self, review: Review, name: str) -> bool:
        return any(self._is_granted(who, review.namespace, name) for who in _users(review))

    def _is_granted(self, who: Identity, namespace: str, name: str) -> bool:
        asked = (
            Attributes(who, "use", group, "*", POLICIES.resource, namespace=namespace, name=name) for group in _GROUPS
        )
        return any(self._authorizer.authorize(each).allowed for each in asked)

    def _refusal(self, review: Review, what: str, refused: Mapping[str, Sequence[FieldError]]) -> StatusError:
        usable = [name for name in refused if self._may_use(review, name)]
        listed = f"[{' '.join(error.told(review.behaviour) for name in usable for error in refused[name])}]"
        if review.behaviour.applies("pod-security-policy-names-itself"):
            return admission_forbidden(review, _told(review.behaviour, f"unable to {what} pod: {listed}"))
        return admission_forbidden(review, f"unable to validate against any pod security policy: {listed}")


def _told(behaviour: ServedBehaviour, text: str) -> str:
    return f"PodSecurityPolicy: {text}" if behaviour.applies("pod-security-policy-names-itself") else text


def _users(review: Review) -> Iterator[Identity]:
    """The service account of the pod, and then the user of the request."""
    account = at(review.object, "spec", "serviceAccountName")
    if account:
        yield service_account(review.namespace, account)
    yield review.identity


def _marked(review: Review, pod: Object, policy: Object) -> Object:
    review.annotations[f"{_AUDIT}/admit-policy"] = name_of(policy)
    return with_metadata(pod, annotations={**annotations_of(pod), CHOSEN: name_of(policy)})


def _is_for_collector(pod: Object, old: Object) -> bool:
    """True if only owners and finalizers change, as the garbage collector does."""
    return _without_collected(pod) == _without_collected(old)


def _without_collected(pod: Object) -> dict[str, Any]:
    about = {name: value for name, value in metadata(pod).items() if name not in _COLLECTOR_FIELDS}
    return {**pod, "metadata": about}


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
