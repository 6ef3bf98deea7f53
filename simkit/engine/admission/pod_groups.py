"""PodGroupProtection adds a finalizer to new groups of pods, PodGroupWorkloadExists looks for the workload they name.

Upstream: plugin/pkg/admission/scheduling/podgroupprotection and plugin/pkg/admission/podgroup, release 1.36.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import admission_forbidden, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.domain import api_group
from simkit.meta.fielderror import quoted
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, with_metadata

_GROUPS: Final = GroupResource(api_group("scheduling"), "podgroups")
_WORKLOADS: Final = GroupResource(api_group("scheduling"), "workloads")
_FINALIZER: Final = f"{api_group('scheduling')}/podgroup-protection"


class PodGroupProtection:
    """Adds the finalizer to new groups."""

    name = "PodGroupProtection"
    leaves_process: Final = False
    resources = frozenset({_GROUPS})

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The object with its finalizer."""
        obj = written(review)
        present = metadata(obj).get("finalizers") or ()
        if review.subresource or _FINALIZER in present:
            return obj
        return with_metadata(obj, finalizers=[*present, _FINALIZER])


class PodGroupWorkloadExists:
    """Checks the reference of a new group to a template of a workload."""

    name = "PodGroupWorkloadExists"
    leaves_process: Final = False
    resources = frozenset({_GROUPS})

    def __init__(self, store: Reader) -> None:
        self._store = store

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

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
