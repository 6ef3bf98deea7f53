"""Admission plugins that decide where pods may run: selectors, zones, priorities and runtime classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.client.resources import NAMESPACES, NODES, PODS
from simkit.engine.admission.plugin_attributes import (
    CREATION,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    WRITES,
    Handler,
    StoreHandler,
    admission_forbidden,
    with_spec,
    written,
)
from simkit.engine.admission.tolerations import merged
from simkit.meta.domain import label
from simkit.meta.errors import unexplained
from simkit.meta.fielderror import quoted
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of
from simkit.meta.resource_list import resource_list_of
from simkit.seams import Reader, Review, existing

# PodNodeSelector merges the node selector of a namespace into its pods.
# Upstream: plugin/pkg/admission/podnodeselector, release 1.30.

_ANNOTATION: Final = label("node-selector", "scheduler.alpha")
DEFAULT: Final = "clusterDefaultNodeSelector"


class PodNodeSelector(Handler, operations=CREATION, resources={PODS}):
    """Reads the namespace's annotation; ``settings`` holds the cluster default and the allowed selectors."""

    def __init__(self, store: Reader, settings: Mapping[str, str] | None = None) -> None:
        self._store, self._settings = store, settings or {}

    def mutate(self, review: Review) -> Object:
        """The pod with the selector of its namespace added."""
        pod = written(review)
        if review.subresource:
            return pod
        self.validate(review)
        wanted = {**self._selector(review), **_own(pod)}
        return with_spec(pod, nodeSelector=wanted) if wanted else pod

    def validate(self, review: Review) -> None:
        """Raises 403 for a pod that contradicts its namespace."""
        if review.subresource:
            return
        own = _own(written(review))
        if any(own.get(key, value) != value for key, value in self._selector(review).items()):
            raise admission_forbidden(
                review, "pod node label selector conflicts with its namespace node label selector"
            )
        allowed = labels_of_selector(self._settings.get(review.namespace, ""))
        if allowed and not own.items() <= allowed.items():
            raise admission_forbidden(review, "pod node label selector labels conflict with its namespace whitelist")

    def _selector(self, review: Review) -> Mapping[str, str]:
        found = existing(self._store, Key(NAMESPACES, "", review.namespace))
        return labels_of_selector(annotations_of(found.object).get(_ANNOTATION, self._settings.get(DEFAULT, "")))


def _own(pod: Object) -> Mapping[str, str]:
    return at(pod, "spec", "nodeSelector") or {}


def labels_of_selector(text: str) -> dict[str, str]:
    """``a=b,c=d`` as a mapping. Raises the 500 of kube-apiserver for anything else."""
    found: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, sign, value = part.partition("=")
        if not sign or "=" in value:
            raise unexplained(f"invalid selector: {part}")
        found[key.strip()] = value.strip()
    return found


# PodTopologyLabels gives pods the zone and the region of their node as labels.
# Upstream: plugin/pkg/admission/podtopologylabels, release 1.36; KEP-4742.

_LABELS: Final = (label("zone", "topology"), label("region", "topology"))


class PodTopologyLabels(StoreHandler, operations=CREATION, resources={PODS}):
    """Copies labels of the node to a new pod that names one, and to the binding of a pod, which hands them on."""

    def mutate(self, review: Review) -> Object:
        """The pod or binding with the labels; unchanged where the node does not exist."""
        obj = written(review)
        found = self._labels(_node_of(obj, review.subresource))
        if not found:
            return obj
        return {**obj, "metadata": {**metadata(obj), "labels": {**labels_of(obj), **found}}}

    def _labels(self, node: str) -> Mapping[str, str]:
        entry = self._store.get(Key(NODES, "", node)) if node else None
        given = labels_of(entry.object) if entry is not None else {}
        return {name: given[name] for name in _LABELS if name in given}


def _node_of(obj: Object, subresource: str) -> str:
    """The node that a pod or a binding names; empty for none."""
    if subresource == "binding":
        return (at(obj, "target", "name") or "") if at(obj, "target", "kind") == "Node" else ""
    return "" if subresource else at(obj, "spec", "nodeName") or ""


# LimitPodHardAntiAffinityTopology refuses required anti-affinity beyond one node.
# Upstream: plugin/pkg/admission/antiaffinity, release 1.30.

_HOST: Final = label("hostname")


class LimitPodHardAntiAffinityTopology(Handler, operations=WRITES, resources={PODS}):
    """Checks the required anti-affinity terms of pods."""

    def validate(self, review: Review) -> None:
        """Raises 403 for a wider topology than a node."""
        if review.subresource:
            return
        terms = at(written(review), "spec", "affinity", "podAntiAffinity") or {}
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey", "")
            if key != _HOST:
                why = f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {_HOST} is"
                raise admission_forbidden(review, f"{why} allowed")


# Priority resolves the PriorityClass of pods.
# Upstream: plugin/pkg/admission/priority, release 1.30.

_PREEMPTS = "PreemptLowerPriority"


class Priority(StoreHandler, operations=WRITES, resources={PODS, PRIORITY_CLASSES}):
    """Resolves the class of new pods, and refuses a second default class."""

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
        return min((each for each in classes if each.get("globalDefault")), key=_value, default=None)

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


# RuntimeClass sets the overhead and the scheduling of pods by their RuntimeClass.
# Upstream: plugin/pkg/admission/runtimeclass, release 1.30.

_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_ALONE = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClass(StoreHandler, operations=CREATION, resources={PODS}):
    """Admits new pods."""

    def _class(self, review: Review) -> Object | None:
        name = at(review.object, "spec", "runtimeClassName")
        if name is None:
            return None
        found = self._store.get(Key(RUNTIME_CLASSES, "", name))
        if found is None:
            raise admission_forbidden(review, f"pod rejected: RuntimeClass {quoted(name)} not found")
        return found.object

    def mutate(self, review: Review) -> Object:
        """The pod with the overhead, node selector and tolerations of its class."""
        pod = written(review)
        found = None if review.subresource else self._class(review)
        if found is None:
            return pod
        changed: dict[str, Any] = {}
        overhead, own = at(found, "overhead", "podFixed"), at(pod, "spec", "overhead")
        if found.get("overhead") is not None:
            if own is not None and resource_list_of(own) != resource_list_of(overhead):
                raise admission_forbidden(review, _DIFFERS)
            changed["overhead"] = overhead
        if found.get("scheduling") is not None:
            changed |= _scheduling(review, pod, found["scheduling"])
        return with_spec(pod, **changed)

    def validate(self, review: Review) -> None:
        """Raises 403 for an overhead that is not the class's."""
        if review.subresource:
            return
        found, own = self._class(review), at(review.object, "spec", "overhead")
        if found is not None and found.get("overhead") is not None:
            if own is None or resource_list_of(own) != resource_list_of(at(found, "overhead", "podFixed")):
                raise admission_forbidden(review, _DIFFERS)
        elif own is not None:
            raise admission_forbidden(review, _ALONE)


def _scheduling(review: Review, pod: Object, scheduling: Object) -> dict[str, Any]:
    own = at(pod, "spec", "nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if own.get(key, value) != value:
            why = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
            raise admission_forbidden(review, f"{why}pod.spec.nodeSelector[{key}] = {own[key]}")
    selector = {**own, **(scheduling.get("nodeSelector") or {})}
    tolerations = merged(at(pod, "spec", "tolerations") or (), scheduling.get("tolerations") or ())
    return {"nodeSelector": selector or None, "tolerations": tolerations or None}
