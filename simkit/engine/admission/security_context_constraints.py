"""The admission plugins of OpenShift that hold pods to its SecurityContextConstraints.

Upstream: github.com/openshift/apiserver-library-go, pkg/securitycontextconstraints/sccadmission, release 4.20.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from simkit.client.resources import NAMESPACES, PODS
from simkit.engine.admission.plugin_attributes import Handler, admission_forbidden, written
from simkit.logic.podsecurity.constraints import (
    REQUIRED,
    VALIDATED,
    account_identity,
    held,
    is_readable,
    may_use,
    precedence,
)
from simkit.meta.errors import internal
from simkit.meta.fielderror import FieldError, forbidden_field, quoted
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, metadata, name_of, with_metadata
from simkit.seams import Authorizer, Reader, Review
from simkit.seams.caveats import NO_CONSTRAINTS
from simkit.snapshot.openshift import CONSTRAINTS

_SUBJECT: Final = "security.openshift.io/validated-scc-subject-type"
_IGNORED: Final = frozenset(("binding", "eviction", "log", "portforward", "proxy", "status"))
_CONNECTIONS: Final = ("attach", "exec")
_NETWORKS: Final = "k8s.ovn.org/pod-networks"
"""The annotation that may be changed without a constraint."""


class _Chosen(NamedTuple):
    """The constraint that admits a pod: its name, who may use it, and the pod with what it sets."""

    name: str
    subject: str
    pod: Object


class SecurityContextConstraint(Handler, operations={"CREATE", "UPDATE", "CONNECT"}, resources={PODS}):
    """Admits a pod that one of the constraints admits which its user or its service account may use."""

    def __init__(self, store: Reader, authorizer: Authorizer) -> None:
        self._store, self._authorizer = store, authorizer

    def mutate(self, review: Review) -> Object:
        """The pod with what the first constraint that admits it sets. Raises 403 where none does."""
        pod = written(review)
        if review.operation == "CONNECT" or _is_ignored(review):
            return pod
        if annotations_of(pod).get(REQUIRED) != annotations_of(review.old or pod).get(REQUIRED):
            why = f"invalid change of required security context constraint annotation: {REQUIRED}"
            raise admission_forbidden(review, why)
        constraints = self._constraints(review, pod)
        if not constraints:
            return pod
        found = self._chosen(review, pod, constraints, review.operation == "CREATE")
        told = {**annotations_of(found.pod), VALIDATED: found.name, _SUBJECT: found.subject}
        return with_metadata(found.pod, annotations=told)

    def validate(self, review: Review) -> None:
        """Raises 403 for a pod that no constraint admits as it is, and for a command in one beyond the user's rights.

        Where no constraints are stored, the client is warned.
        """
        if review.operation == "CONNECT":
            self._validate_connection(review)
            return
        pod = written(review)
        if _is_ignored(review):
            return
        constraints = self._constraints(review, pod)
        if constraints:
            self._chosen(review, pod, constraints, False)
        else:
            review.warnings.append(NO_CONSTRAINTS)

    def _validate_connection(self, review: Review) -> None:
        """Raises 403 if no constraint that the user or the pod's account may use admits the pod."""
        entry = self._store.get(Key(PODS, review.namespace, review.name))
        if review.subresource not in _CONNECTIONS or entry is None:
            return
        constraints = self._constraints(review, entry.object)
        found = self._found(review, entry.object, constraints, True) if constraints else None
        if isinstance(found, str):
            why = f"operation is not allowed because the pod's security context exceeds your permissions: {found}"
            raise admission_forbidden(review, f"{review.subresource} {why}")

    def _constraints(self, review: Review, pod: Object) -> Sequence[Object]:
        """The constraints in the order in which they are tried: the required one alone, or all.

        Those that cannot be read come last.
        """
        every = sorted((entry.object for entry in self._store.scan(CONSTRAINTS)), key=_order)
        required = annotations_of(pod).get(REQUIRED)
        if not required or not every:
            return every
        found = [constraint for constraint in every if name_of(constraint) == required]
        if not found:
            missing = f'securitycontextconstraints.security.openshift.io "{required}" not found'
            raise admission_forbidden(review, f"failed to retrieve the required SCC {quoted(required)}: {missing}")
        return found

    def _chosen(self, review: Review, pod: Object, constraints: Sequence[Object], may_change: bool) -> _Chosen:
        found = self._found(review, pod, constraints, may_change)
        if isinstance(found, str):
            raise admission_forbidden(review, f"unable to validate against any security context constraint: {found}")
        return found

    def _found(self, review: Review, pod: Object, constraints: Sequence[Object], may_change: bool) -> _Chosen | str:
        """The first constraint that admits the pod, or the errors of all. Raises 500 if one was not read."""
        entry = self._store.get(Key(NAMESPACES, "", review.namespace))
        namespace: Object = entry.object if entry is not None else {}
        errors: list[FieldError] = []
        for constraint in constraints:
            name = name_of(constraint)
            if not is_readable(constraint):
                raise internal(f"SecurityContextConstraints {name} cannot be read, so it may admit the pod or not")
            subject = self._subject(review, pod, constraint)
            if not subject:
                where = f"provider {quoted(name)}"
                errors.append(forbidden_field(where, "not usable by user or serviceaccount"))
                continue
            made = held(constraint, namespace, pod)
            if made.errors:
                errors += made.errors
            elif may_change or _same(review, pod, made.pod):
                return _Chosen(name, subject, made.pod)
        return _aggregate(errors, review)

    def _subject(self, review: Review, pod: Object, constraint: Object) -> str:
        """Who may use a constraint: the service account of a pod, or else the user; empty if neither may."""
        name, where = at(pod, "spec", "serviceAccountName") or "", review.namespace
        if name and may_use(self._authorizer.authorize, account_identity(where, name), where, constraint):
            return "serviceaccount"
        return "user" if may_use(self._authorizer.authorize, review.identity, where, constraint) else ""


def _order(constraint: Object) -> tuple[bool, tuple[int, int, str]]:
    return (False, precedence(constraint)) if is_readable(constraint) else (True, (0, 0, name_of(constraint)))


def _same(review: Review, pod: Object, made: Object) -> bool:
    """True if a constraint changes nothing, or nothing but temporary containers where these are added."""
    if review.operation == "UPDATE" and review.subresource == "ephemeralcontainers":
        containers = at(pod, "spec", "ephemeralContainers")
        made = {**made, "spec": {**made["spec"], "ephemeralContainers": containers}}
    return _plain(made) == _plain(pod)


def _plain(value: object) -> object:
    """A value without empty parts, which mean the same as absent ones."""
    if isinstance(value, dict):
        return {name: kept for name, part in value.items() if (kept := _plain(part)) not in ({}, [], None)}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _is_ignored(review: Review) -> bool:
    """True for what needs no constraint: other subresources, pods of Windows, and some changes of metadata."""
    pod, old = written(review), review.old
    if review.subresource in _IGNORED or at(pod, "spec", "os", "name") == "windows":
        return True
    if review.operation != "UPDATE" or old is None or _plain(pod.get("spec")) != _plain(old.get("spec")):
        return False
    return _with_constraint(pod) == _with_constraint(old)


def _with_constraint(pod: Object) -> object:
    """What of the metadata of a pod may not be changed without a constraint."""
    left_out = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "annotations")
    kept = {name: value for name, value in metadata(pod).items() if name not in left_out}
    return kept, {name: value for name, value in annotations_of(pod).items() if name != _NETWORKS}


def _aggregate(errors: Sequence[FieldError], review: Review) -> str:
    """The errors as Go shows several: each once, in brackets if there are several."""
    told = list(dict.fromkeys(error.told(review.behaviour) for error in errors))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]"
