"""The replay of a trace on forks of a cluster at two releases, on a simulated clock, with controllers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.analysis.upgrade.trace import TraceEvent, TraceOutcome
    from simkit.cluster.cluster import Cluster


def replay_on_forks(cluster: Cluster, trace: Sequence[TraceEvent], to: str, clock: SimulatedClock) -> TraceOutcome:
    """The differences when a trace is replayed on forks at a cluster's own and at a later release.

    Parameters
    ----------
    clock
        The clock that the cluster was made with; both forks live by it.

    Raises
    ------
    SimkitError
        For an unknown release.

    Examples
    --------
    >>> from simkit import Cluster, Options, SimulatedClock
    >>> from simkit.analysis.upgrade.trace import TraceEvent
    >>> clock = SimulatedClock()
    >>> cluster = Cluster(options=Options(release="1.24", clock=clock, seed=1))
    >>> job = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "a", "namespace": "default"}}
    >>> pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}
    >>> job["spec"] = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": pod}}}
    >>> [row.difference for row in replay_on_forks(cluster, [TraceEvent(0, (job,))], "1.25", clock).rows]
    ['answer', 'missing']
    """
    from simkit.analysis.upgrade.trace import replay_trace

    if not isinstance(clock, SimulatedClock):
        raise SimkitError("a trace is replayed on a simulated clock: Options(clock=SimulatedClock())")

    def settle(fork: Any) -> int:
        rounds: int = fork.settle()
        return rounds

    before, after = cluster.fork(), cluster.fork(release=to)
    return replay_trace(trace, before, after, advance=clock.advance, settle=settle)
