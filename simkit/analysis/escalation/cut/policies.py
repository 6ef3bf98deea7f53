"""Levels of pod security as changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from simkit.analysis.escalation.cut.remedy import Remedy, as_written, stored
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import ENFORCE
from simkit.analysis.escalation.find.matching import Edge
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

    @property
    def key(self) -> Key:
        """The key of the namespace."""
        return Key(NAMESPACES, "", self.namespace)

    def refused(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The running pods of the namespace that the level would refuse if they were made again."""
        wanted = LevelVersion(self.level)

        def is_refused(pod: Object) -> bool:
            return bool(violations(wanted, pod.get("metadata") or {}, pod.get("spec") or {}, snapshot.behaviour))

        return tuple(name_of(pod) for pod in _running(snapshot, self.namespace) if is_refused(pod))

    def cost(self, snapshot: Snapshot) -> float:
        """The cost of the level, to be compared with that of removals: the pods that it would refuse."""
        return 1.0 + len(self.refused(snapshot))

    def remedy(self, snapshot: Snapshot) -> Remedy:
        """The namespace with the label that enforces the level, and the workloads that this may break."""
        known: Object = stored(snapshot, self.key) or {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace},
        }
        written = as_written(known)
        labels = {**labels_of(known), ENFORCE: self.level}
        change = Change(self.key, {**written, "metadata": {**written["metadata"], "labels": labels}})
        refused, risk = self.refused(snapshot), f"it refuses no running pod of {self.namespace}"
        if refused:
            pods = f"{counted(len(refused), 'running pod')} of {self.namespace}"
            risk = f"{pods} could not be recreated: {first_of(refused, SHOWN)}"
        return Remedy(sentence(self), risk, (change,), (), snapshot)

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


def _running(snapshot: Snapshot, namespace: str) -> Iterable[Object]:
    """The running pods of a namespace."""
    pods = snapshot.scan(PODS, namespace) if PODS in snapshot.captured() else ()
    return (pod for pod in pods if not has_ended(pod))


def sentence(change: object) -> str:
    """A change in words, as a sentence."""
    text = str(change)
    return f"{text[0].upper()}{text[1:]}."
