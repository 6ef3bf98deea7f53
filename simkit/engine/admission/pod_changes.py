"""Admission plugins of changed pods and of groups of pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.client.resources import NODES, PODS
from simkit.engine.admission.plugin_attributes import (
    CREATION,
    UPDATES,
    Handler,
    StoreHandler,
    admission_forbidden,
    written,
)
from simkit.kinds.parts.pod.qos import pod_requests
from simkit.meta.domain import api_group, label
from simkit.meta.fielderror import quoted
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, labels_of, metadata, with_metadata
from simkit.meta.quantity import Quantity, parse
from simkit.meta.resource_list import add, resource_list_of
from simkit.seams import Review

# PodResizeValidator refuses resizes of pods for which their node has no room.
# Upstream: plugin/pkg/admission/podresize, release 1.36.

_OS: Final = label("os")
_NONE: Final = parse("0")


class PodResizeValidator(StoreHandler, operations=UPDATES, resources={PODS}):
    """Compares the requests of a resized pod with what its node has for pods."""

    def validate(self, review: Review) -> None:
        """Raises 403 where the node does not exist, is not one of Linux, or has too little CPU or memory."""
        pod = written(review)
        node_name = at(pod, "spec", "nodeName")
        if review.subresource != "resize" or not node_name:
            return
        if metadata(review.old or {}).get("generation") == metadata(pod).get("generation"):
            return
        entry = self._store.get(Key(NODES, "", node_name))
        if entry is None:
            raise admission_forbidden(review, f'node "{node_name}" not found')
        system = labels_of(entry.object).get(_OS, "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{node_name}" is "{system}"'
            raise admission_forbidden(review, why, causes=[{"reason": "UnsupportedPlatform"}])
        lacking = _lacking(pod, entry.object)
        if lacking:
            why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
            raise admission_forbidden(review, why, causes=[{"reason": "NodeCapacity"}])


def _lacking(pod: Object, node: Object) -> list[str]:
    """The resources of which the node has too little, in words."""
    wanted = {**pod_requests(pod), **resource_list_of(at(pod, "spec", "resources", "requests"))}
    wanted = add(wanted, resource_list_of(at(pod, "spec", "overhead")))
    there = resource_list_of(at(node, "status", "allocatable"))

    def pair(name: str) -> tuple[Quantity, Quantity]:
        return wanted.get(name, _NONE), there.get(name, _NONE)

    found = []
    request, allocatable = pair("cpu")
    if request.nano > allocatable.nano:
        found.append(f"cpu, requested: {request.milli}, allocatable: {allocatable.milli}")
    request, allocatable = pair("memory")
    if request.nano > allocatable.nano:
        found.append(f"memory, requested: {request.whole}, allocatable: {allocatable.whole}")
    return found


# NodeDeclaredFeatureValidator refuses changes of pods for which their node lacks a feature.
# Upstream: plugin/pkg/admission/nodedeclaredfeatures and k8s.io/component-helpers/nodedeclaredfeatures, release 1.36.

_SUBRESOURCES: Final = ("", "resize")


class NodeDeclaredFeatureValidator(StoreHandler, operations=UPDATES, resources={PODS}):
    """Compares what a changed pod needs with what its node says that it can do."""

    def validate(self, review: Review) -> None:
        """Raises 403 where the node does not exist or has not declared a feature that the change needs."""
        pod, old = written(review), review.old or {}
        node_name = at(pod, "spec", "nodeName")
        if review.subresource not in _SUBRESOURCES or not node_name:
            return
        if metadata(old).get("generation") == metadata(pod).get("generation"):
            return
        needed = [*_needed(pod["spec"], old["spec"])]
        if not needed:
            return
        entry = self._store.get(Key(NODES, "", node_name))
        if entry is None:
            raise admission_forbidden(review, f'node "{node_name}" not found')
        declared = at(entry.object, "status", "declaredFeatures") or ()
        lacking = ", ".join(name for name in needed if name not in declared)
        if lacking:
            why = f'pod update requires features {lacking} which are not available on node "{node_name}"'
            raise admission_forbidden(review, why)


def _needed(spec: Object, old: Object) -> Iterator[str]:
    """The features that a change of a pod needs, in the order of their names."""
    if _differ(spec.get("resources"), old.get("resources")):
        yield "InPlacePodLevelResourcesVerticalScaling"
    pairs = zip(spec.get("initContainers") or (), old.get("initContainers") or (), strict=False)
    if any(_is_resized(container, before) for container, before in pairs):
        yield "InPlacePodVerticalScalingInitContainers"


def _is_resized(container: Object, before: Object) -> bool:
    """True if a container that is no sidecar has other resources now."""
    sidecar = before.get("restartPolicy") == "Always"
    return not sidecar and _differ(container.get("resources") or {}, before.get("resources") or {})


def _differ(new: Object | None, old: Object | None) -> bool:
    if new is None or old is None:
        return new is not old
    return _amounts(new) != _amounts(old)


def _amounts(resources: Object) -> dict[str, Any]:
    """The resources as amounts, however they are written."""
    sides = {side: resource_list_of(resources.get(side)) for side in ("limits", "requests")}
    return {"claims": resources.get("claims") or None, **sides}


# PodGroupProtection adds a finalizer to new groups of pods, PodGroupWorkloadExists looks for the workload they name.
# Upstream: plugin/pkg/admission/scheduling/podgroupprotection and plugin/pkg/admission/podgroup, release 1.36.

_GROUPS: Final = GroupResource(api_group("scheduling"), "podgroups")
_WORKLOADS: Final = GroupResource(api_group("scheduling"), "workloads")
_FINALIZER: Final = f"{api_group('scheduling')}/podgroup-protection"


class PodGroupProtection(Handler, operations=CREATION, resources={_GROUPS}):
    """Adds the finalizer to new groups."""

    def mutate(self, review: Review) -> Object:
        """The object with its finalizer."""
        obj = written(review)
        present = metadata(obj).get("finalizers") or ()
        if review.subresource or _FINALIZER in present:
            return obj
        return with_metadata(obj, finalizers=[*present, _FINALIZER])


class PodGroupWorkloadExists(StoreHandler, operations=CREATION, resources={_GROUPS}):
    """Checks the reference of a new group to a template of a workload."""

    def validate(self, review: Review) -> None:
        """Raises 403 for a workload or a template that is not there."""
        reference = at(written(review), "spec", "podGroupTemplateRef", "workload")
        if review.subresource or reference is None:
            return
        why = self._missing(review.namespace, reference)
        if why:
            raise admission_forbidden(review, f"PodGroup rejected: {why}")

    def _missing(self, namespace: str, reference: Object) -> str:
        name, template = (reference.get(field) or "" for field in ("workloadName", "podGroupTemplateName"))
        entry = self._store.get(Key(_WORKLOADS, namespace, name))
        if entry is None:
            return f"Workload {quoted(name)} not found"
        if metadata(entry.object).get("deletionTimestamp"):
            return f"Workload {quoted(name)} is being deleted"
        there = {each.get("name") for each in at(entry.object, "spec", "podGroupTemplates") or ()}
        return "" if template in there else f"PodGroupTemplate {quoted(template)} not found in Workload {quoted(name)}"
