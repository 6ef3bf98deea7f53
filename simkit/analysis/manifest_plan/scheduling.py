"""What becomes of the pods of manifests: which do not run, what they read, and which budgets allow no eviction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.operations.observation import NODES, PODS, Observation, OperationSandbox, RehearsalCluster
from simkit.analysis.upgrade.behaviour.pod_templates import pod_templates
from simkit.logic.podsecurity.evaluate import POD_TEMPLATES, violations
from simkit.logic.podsecurity.policy import LevelVersion
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.meta.podspec import containers_of
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.withhold import is_secret

BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
WATCHED: Final = frozenset(
    (
        PODS,
        NODES,
        BUDGETS,
        *POD_TEMPLATES,
        GroupResource("", "resourcequotas"),
        GroupResource("", "limitranges"),
        GroupResource("", "persistentvolumeclaims"),
        GroupResource(api_group("scheduling"), "priorityclasses"),
    )
)
"""The resources whose objects decide whether pods run."""
_SETTLING: Final = 2.0
"""The seconds of simulated time in which the pods of the cluster take up their work."""
_STARTING: Final = 12.0
"""The seconds that pods have to start after the change."""


class Unscheduled(NamedTuple):
    """The pods of one workload that do not run, with the reason."""

    namespace: str
    workload: str
    number: int
    why: str


class Outlook(NamedTuple):
    """What becomes of pods and budgets."""

    pods: tuple[Unscheduled, ...]
    budgets: tuple[str, ...]
    """Budgets that allow no eviction any more, as ``namespace/name``."""


def is_watched(resource: str) -> bool:
    """True if objects of a resource, written ``deployments.apps``, decide whether pods run."""
    return resource in {str(one) for one in WATCHED}


def outlook(sandbox: OperationSandbox, apply: Callable[[RehearsalCluster], object]) -> Outlook:
    """Pods that do not run and budgets that allow no eviction after a change, and did or were not there before.

    Parameters
    ----------
    sandbox
        The cluster before the change.
    apply
        Makes the change on a fork whose nodes are simulated.
    """
    observed = Observation(sandbox.rehearsal(settings={"ready-after": "1s"}), settling=_SETTLING)
    blocked = set(_blocked(observed.snapshot))
    apply(observed.cluster)
    observed.wait(_STARTING)
    found = observed.result("the plan", {}, complete=True, planned=True)
    pending = [one for one in found.pods if one.outcome == "pending"]
    counts = Counter((one.namespace, one.workload or f"Pod/{one.pod}", one.why) for one in pending)
    pods = tuple(Unscheduled(where, workload, count, why) for (where, workload, why), count in counts.items())
    return Outlook(pods, tuple(name for name in _blocked(observed.snapshot) if name not in blocked))


def _blocked(snapshot: Snapshot) -> Iterator[str]:
    """The budgets that cover pods and allow no eviction."""
    if BUDGETS in snapshot.captured():
        for budget in snapshot.scan(BUDGETS):
            status = budget.get("status") or {}
            if status.get("expectedPods") and not status.get("disruptionsAllowed"):
                yield f"{namespace_of(budget)}/{name_of(budget)}"


def nodes_of(snapshot: Snapshot) -> Sequence[Object]:
    """The nodes of a snapshot; none where they were not captured."""
    return list(snapshot.scan(NODES)) if NODES in snapshot.captured() else []


def images_of(obj: Object | None) -> frozenset[str]:
    """The images in the pod templates of an object; of none where there is no object."""
    return frozenset(str(one["image"]) for spec in _specs(obj) for one in containers_of(spec) if one.get("image"))


def secrets_of(obj: Object | None) -> frozenset[str]:
    """The names of the Secrets that the pods of an object read, or that an object is."""
    own = {name_of(obj)} if obj is not None and is_secret(obj) else set()
    return frozenset(own.union(*(_secrets(spec) for spec in _specs(obj))))


def breaches_of(obj: Object | None, behaviour: ServedBehaviour) -> frozenset[str]:
    """What the pods of an object do that the pod security level baseline forbids, such as running privileged."""
    baseline = LevelVersion("baseline")
    templates = () if obj is None else pod_templates(obj, b"")
    return frozenset(
        str(violation)
        for _, template in templates
        for violation in violations(baseline, template.get("metadata") or {}, template.get("spec") or {}, behaviour)
    )


def _specs(obj: Object | None) -> Iterator[Mapping[str, Any]]:
    if obj is not None:
        for _, template in pod_templates(obj, b""):
            spec = template.get("spec")
            if isinstance(spec, Mapping):
                yield spec


def _secrets(spec: Mapping[str, Any]) -> Iterator[str]:
    """The Secrets of volumes, environments and image pulls."""
    for volume in spec.get("volumes") or ():
        yield from _named(at(volume, "secret", "secretName"))
        for source in at(volume, "projected", "sources") or ():
            yield from _named(at(source, "secret", "name"))
    for container in containers_of(spec):
        for source in container.get("envFrom") or ():
            yield from _named(at(source, "secretRef", "name"))
        for variable in container.get("env") or ():
            yield from _named(at(variable, "valueFrom", "secretKeyRef", "name"))
    for one in spec.get("imagePullSecrets") or ():
        yield from _named(one.get("name"))


def _named(name: object) -> Iterator[str]:
    if isinstance(name, str) and name:
        yield name
