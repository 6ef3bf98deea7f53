"""PodSecurity evaluates pods and their templates against the levels of their namespace.

Upstream: plugin/pkg/admission/security/podsecurity and k8s.io/pod-security-admission/admission/admission.go, release
1.30.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.client.resources import NAMESPACES, PODS
from simkit.engine.admission.plugin_attributes import WRITES, Handler, admission_forbidden, written
from simkit.logic.podsecurity.evaluate import POD_TEMPLATES, template_of, violations
from simkit.logic.podsecurity.policy import (
    PREFIX,
    LevelVersion,
    Policy,
    Violation,
    exempt_namespace_warning,
    forbidden_detail,
    forbidden_reason,
    policy_of,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.deadline import checked
from simkit.meta.domain import label
from simkit.meta.errors import internal, invalid
from simkit.meta.fielderror import FieldError, aggregate_errors
from simkit.meta.names import GroupKind, Key
from simkit.meta.objects import Object, annotations_of, at, controller_of, labels_of, metadata, name_of
from simkit.meta.podspec import CONTAINER_LISTS
from simkit.seams import Reader, Review

_IGNORED: Final = frozenset({"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"})
_MOST_PODS: Final = 3000
_SECCOMP_POD: Final = label("pod", "seccomp.security.alpha")
_SECCOMP_CONTAINER: Final = label("", "container.seccomp.security.alpha")


@dataclass(frozen=True, slots=True)
class Exemptions:
    """The users, namespaces and runtime classes that are not evaluated."""

    namespaces: Collection[str] = ()
    usernames: Collection[str] = ()
    runtime_classes: Collection[str] = ()


class PodSecurity(Handler, operations=WRITES, resources={NAMESPACES, PODS, *POD_TEMPLATES}):
    """Refuses violations of the enforced level, warns of and audits the others; checks changed labels too."""

    def __init__(
        self,
        store: Reader,
        behaviour: ServedBehaviour,
        defaults: Policy | None = None,
        exempt: Exemptions | None = None,
    ) -> None:
        self._store, self._defaults, self._exempt = store, defaults or Policy(), exempt or Exemptions()
        self._behaviour = behaviour

    def validate(self, review: Review) -> None:
        """Raises 403 for a pod that violates the enforced level of its namespace, 422 for invalid labels."""
        if review.resource == NAMESPACES:
            if not review.subresource:
                self._namespace(review)
            return
        is_pod = review.resource == PODS
        if review.subresource and (not is_pod or review.subresource in _IGNORED):
            return
        reason = self._exemption(review)
        if reason:
            review.annotations[f"{PREFIX}exempt"] = reason
        elif is_pod:
            self._pod(review)
        else:
            self._workload(review)

    def _exemption(self, review: Review) -> str:
        if review.namespace in self._exempt.namespaces:
            return "namespace"
        return "user" if review.identity.user in self._exempt.usernames else ""

    def _policy(self, review: Review) -> tuple[Policy, list[FieldError]]:
        found = self._store.get(Key(NAMESPACES, "", review.namespace))
        if found is None:
            raise internal(f'failed to lookup namespace "{review.namespace}"')
        return policy_of(labels_of(found.object), self._defaults)

    def _pod(self, review: Review) -> None:
        policy, errors = self._policy(review)
        if not errors and policy.privileged:
            review.annotations[f"{PREFIX}enforce-policy"] = str(LevelVersion())
        elif review.operation == "CREATE" or _matters(written(review), review.old or {}):
            self._evaluate(review, policy, errors, written(review), enforce=True)

    def _workload(self, review: Review) -> None:
        policy, errors = self._policy(review)
        if not errors and policy.warn.level == policy.audit.level == "privileged":
            return
        template = template_of(review.resource, written(review))
        if template is not None:
            self._evaluate(review, policy, errors, template, enforce=False)

    def _evaluate(
        self, review: Review, policy: Policy, errors: Sequence[FieldError], pod: Object, *, enforce: bool
    ) -> None:
        spec, notes = pod.get("spec") or {}, review.annotations
        if spec.get("runtimeClassName") in self._exempt.runtime_classes:
            notes[f"{PREFIX}exempt"] = "runtimeClass"
            return
        if errors:
            notes[f"{PREFIX}error"] = (
                f"Failed to parse policy: {aggregate_errors(error.told(self._behaviour) for error in errors)}"
            )
        found: dict[LevelVersion, list[Violation]] = {}

        def of(wanted: LevelVersion) -> list[Violation]:
            if wanted not in found:
                found[wanted] = violations(wanted, metadata(pod), spec, self._behaviour)
            return found[wanted]

        if enforce:
            notes[f"{PREFIX}enforce-policy"] = str(policy.enforce)
        if of(policy.audit):
            text = f'would violate PodSecurity "{policy.audit}": {forbidden_detail(of(policy.audit))}'
            notes[f"{PREFIX}audit-violations"] = text
        if enforce and of(policy.enforce):
            raise admission_forbidden(
                review, f'violates PodSecurity "{policy.enforce}": {forbidden_detail(of(policy.enforce))}'
            )
        if of(policy.warn):
            review.warnings.append(f'would violate PodSecurity "{policy.warn}": {forbidden_detail(of(policy.warn))}')

    def _namespace(self, review: Review) -> None:
        namespace, labels = written(review), labels_of(written(review))
        policy, errors = policy_of(labels, self._defaults)
        before, former = policy_of(labels_of(review.old or {}), self._defaults)
        if errors and (review.operation == "CREATE" or errors != former):
            raise invalid(self._behaviour, GroupKind("", "Namespace"), name_of(namespace), errors)
        name = name_of(namespace)
        if review.operation == "UPDATE" and not _stricter(policy.enforce, before.enforce):
            return
        if name in self._exempt.namespaces:
            if not policy.privileged and policy != self._defaults:
                review.warnings.append(exempt_namespace_warning(name, policy, labels))
        elif review.operation == "UPDATE":
            review.warnings.extend(self._present(name, policy.enforce))

    def _present(self, namespace: str, enforce: LevelVersion) -> list[str]:
        """Warnings about existing pods that violate the newly enforced level."""
        pods = _one_of_each_first([entry.object for entry in self._store.scan(PODS, namespace)])
        looked_at = pods[:_MOST_PODS]
        bad: dict[str, list[str]] = {}
        for pod in checked(looked_at):
            if at(pod, "spec", "runtimeClassName") in self._exempt.runtime_classes:
                continue
            found = violations(enforce, metadata(pod), pod.get("spec") or {}, self._behaviour)
            if found:
                bad.setdefault(forbidden_reason(found), []).append(name_of(pod))
        warnings: list[str] = []
        if len(looked_at) < len(pods):
            only = f"the first {len(looked_at)} of {len(pods)} existing pods"
            warnings.append(f"new PodSecurity enforce level only checked against {only}")
        if bad:
            start = f'existing pods in namespace "{namespace}" violate'
            warnings.append(f'{start} the new PodSecurity enforce level "{enforce}"')
        return warnings + sorted(_counted(min(names), len(names), text) for text, names in bad.items())


def _stricter(new: LevelVersion, old: LevelVersion) -> bool:
    """True if pods that were allowed may be forbidden now."""
    if new == old or new.level == "privileged":
        return False
    return new.minor != old.minor or new.stricter_than(old)


def _counted(name: str, count: int, text: str) -> str:
    others = {1: "", 2: " (and 1 other pod)"}.get(count, f" (and {count - 1} other pods)")
    return f"{name}{others}: {text}"


def _one_of_each_first(pods: Sequence[Object]) -> list[Object]:
    """One pod of each controller first, then the others, so that the most different ones are evaluated."""
    first: list[Object] = []
    twins: list[Object] = []
    seen: set[Any] = set()
    for pod in pods:
        owner = (controller_of(pod) or {}).get("uid", "")
        (twins if owner in seen else first).append(pod)
        if owner:
            seen.add(owner)
    return first + twins


def _matters(pod: Object, old: Object) -> bool:
    """True if an update changes anything that checks look at: images, added containers, seccomp annotations."""
    notes, former = annotations_of(pod), annotations_of(old)
    if notes.get(_SECCOMP_POD) != former.get(_SECCOMP_POD):
        return True
    for field in CONTAINER_LISTS:
        new: Sequence[Mapping[str, Any]] = at(pod, "spec", field) or ()
        known = {each["name"]: each for each in at(old, "spec", field) or ()}
        if field != "ephemeralContainers" and len(new) != len(known):
            return True
        for each in new:
            key = _SECCOMP_CONTAINER + each["name"]
            if each["name"] not in known or each.get("image") != known[each["name"]].get("image"):
                return True
            if notes.get(key) != former.get(key):
                return True
    return False
