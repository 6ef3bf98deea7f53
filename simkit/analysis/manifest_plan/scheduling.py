"""Pods that do not run, and budgets that allow no eviction, once controllers and scheduler have acted on manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from simkit.analysis.operations.observation import NODES, PODS, Observation
from simkit.analysis.operations.sandbox import OperationSandbox, RehearsalCluster
from simkit.logic.podsecurity.evaluate import POD_TEMPLATES
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.seams.snapshot import Snapshot

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
