"""Priority resolves the PriorityClass of pods.

Upstream: plugin/pkg/admission/priority, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import (
    PODS,
    PRIORITY_CLASSES,
    WRITES,
    admission_forbidden,
    with_spec,
    written,
)
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of

_PREEMPTS = "PreemptLowerPriority"


class Priority:
    """Resolves the class of new pods, and refuses a second default class."""

    name = "Priority"
    leaves_process: Final = False
    resources = frozenset({PODS, PRIORITY_CLASSES})

    def __init__(self, store: Reader) -> None:
        self._store = store

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def mutate(self, review: Review) -> Object:
        """A new pod with the priority of its class; an update keeps the earlier one."""
        obj = written(review)
        if review.resource != PODS or review.subresource:
            return obj
        return self._resolved(review, obj) if review.operation == "CREATE" else _kept(obj, review.old or {})

    def validate(self, review: Review) -> None:
        """Raises 403 for a second default class."""
        obj = written(review)
        if review.resource != PRIORITY_CLASSES or review.subresource or not obj.get("globalDefault"):
            return
        default = self._default()
        if default is not None and (review.operation == "CREATE" or name_of(default) != name_of(obj)):
            why = f"PriorityClass {name_of(default)} is already marked as default. Only one default can exist"
            raise admission_forbidden(review, why)

    def _default(self) -> Object | None:
        classes = [entry.object for entry in self._store.scan(PRIORITY_CLASSES)]
        return min(filter(_is_default, classes), key=_value, default=None)

    def _class(self, review: Review, name: str) -> Object:
        if not name:
            return self._default() or {"value": 0, "preemptionPolicy": _PREEMPTS}
        entry = self._store.get(Key(PRIORITY_CLASSES, "", name))
        if entry is None:
            raise admission_forbidden(review, f"no PriorityClass with name {name} was found")
        return entry.object

    def _resolved(self, review: Review, pod: Object) -> Object:
        chosen = self._class(review, at(pod, "spec", "priorityClassName") or "")
        priority, given = _value(chosen), at(pod, "spec", "priority")
        end = "from the given PriorityClass name"
        if given is not None and given != priority:
            why = f"the integer value of priority ({given}) must not be provided in pod spec; "
            raise admission_forbidden(review, f"{why}priority admission controller computed {priority} {end}")
        policy, own = chosen.get("preemptionPolicy"), at(pod, "spec", "preemptionPolicy")
        if policy is None:
            policy = own
        elif own is not None and own != policy:
            why = f"the string value of PreemptionPolicy ({own}) must not be provided in pod spec; "
            raise admission_forbidden(review, f"{why}priority admission controller computed {policy} {end}")
        name = at(pod, "spec", "priorityClassName") or name_of(chosen) or None
        return with_spec(pod, priorityClassName=name, priority=priority, preemptionPolicy=policy)


def _is_default(obj: Object) -> bool:
    return bool(obj.get("globalDefault"))


def _value(obj: Object) -> int:
    value: int = obj.get("value") or 0
    return value


def _kept(pod: Object, old: Object) -> Object:
    lost = {
        name: at(old, "spec", name)
        for name in ("priority", "preemptionPolicy")
        if at(pod, "spec", name) is None and at(old, "spec", name) is not None
    }
    return with_spec(pod, **lost) if lost else pod
