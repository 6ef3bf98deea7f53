"""A level of pod security as a change: the label of a namespace, what it closes, and which pods it would refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from simkit.analysis.escalation.cut.change_text import as_written, stored
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.edge import Edge
from simkit.analysis.escalation.find.facts import ENFORCE
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.rbac.objects import NAMESPACES, PODS
from simkit.analysis.rendering import counted, first_of
from simkit.logic.podsecurity.evaluate import violations
from simkit.logic.podsecurity.policy import LevelVersion
from simkit.logic.workloads.pods import has_ended
from simkit.meta.names import Key
from simkit.meta.objects import Object, labels_of, name_of
from simkit.seams.snapshot import Snapshot

Level = Literal["privileged", "baseline", "restricted"]
BASELINE: Final = "baseline"
OPEN_NAMESPACE: Final = "unrestricted-namespace"
"""The condition of primitives that need a namespace which lets privileged pods in."""
SHOWN: Final = 3


@dataclass(frozen=True, order=True)
class EnforceLevel:
    """Enforce a level of pod security in a namespace."""

    kind: ClassVar[str] = "enforce pod security"
    namespace: str
    level: Level = BASELINE

    def __str__(self) -> str:
        return f"enforce the {self.level} pod security level in namespace {self.namespace}"

    def stops(self, edge: Edge) -> bool:
        """True if a step is no longer possible by it: one that makes a privileged pod there, and could nowhere else."""
        return (
            bool(edge.primitive)
            and edge.variant.condition == OPEN_NAMESPACE
            and edge.value("namespace") == self.namespace
            and _is_bound_to(self.namespace, edge)
        )


def _is_bound_to(namespace: str, edge: Edge) -> bool:
    """True if what a step needs is held in one namespace only: by bindings there, or by being in it."""
    granted = [source for requirement in edge.granted_by for source in requirement]
    if not granted:
        return edge.source.namespace == namespace and edge.source.namespace != states.ALL
    return all(any(source.binding.namespace == namespace for source in some) for some in edge.granted_by if some)


def enforcing(snapshot: Snapshot, namespace: str, level: Level = BASELINE) -> Change:
    """The namespace with the label that enforces a level."""
    key = Key(NAMESPACES, "", namespace)
    known: Object = stored(snapshot, key) or {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    written = as_written(known)
    labels = {**labels_of(known), ENFORCE: level}
    return Change(key, {**written, "metadata": {**written["metadata"], "labels": labels}})


def refused_pods(snapshot: Snapshot, namespace: str, level: Level = BASELINE) -> tuple[str, ...]:
    """The running pods of a namespace that a level would refuse if they were made again."""
    if PODS not in snapshot.captured():
        return ()
    wanted = LevelVersion(level)

    def is_refused(pod: Object) -> bool:
        return bool(violations(wanted, pod.get("metadata") or {}, pod.get("spec") or {}, snapshot.behaviour))

    return tuple(name_of(pod) for pod in snapshot.scan(PODS, namespace) if not has_ended(pod) and is_refused(pod))


def risk_of_level(namespace: str, refused: tuple[str, ...]) -> str:
    """The workloads that a pod security level may break, in words."""
    if not refused:
        return f"it refuses no running pod of {namespace}"
    shown = first_of(refused, SHOWN)
    return f"{counted(len(refused), 'running pod')} of {namespace} could not be recreated: {shown}"
