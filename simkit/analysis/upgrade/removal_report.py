"""The part of an upgrade report that is about API versions which a release removes, or which are disabled."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.upgrade.items import Items, stored_items
from simkit.analysis.upgrade.removed_resources import served_elements
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.analysis.upgrade.upgrade_report import OF_REMOVALS, UpgradeReport, report_of
from simkit.meta.errors import SimkitError
from simkit.schema.releases import is_release
from simkit.seams.snapshot import Sandbox
from simkit.snapshot.dump import Dump


class ApiDisablingSandbox(Sandbox, Protocol):
    """A sandbox whose forks can have API versions disabled, as ``--runtime-config`` of kube-apiserver does."""

    @property
    def dump(self) -> Dump | None:
        """The dump that the sandbox was loaded from, with objects in the versions in which they were written; or
        None."""
        ...

    def with_apis_disabled(self, *elements: str) -> Sandbox:
        """Return a fork that does not serve the given groups, versions or resources of versions."""
        ...


def removal_report(
    cluster: ApiDisablingSandbox, *elements: str, release: str | None = None, audit_log: AuditLog | None = None
) -> UpgradeReport:
    """Report everything that uses API versions which a cluster no longer serves, or which another release removes.

    Parameters
    ----------
    cluster
        The cluster that is looked at.
    elements
        Versions (``flowcontrol.apiserver.<domain>/v1beta3``), groups or resources of versions to disable. Of those
        that an earlier release removed, the report lists what is still written in them and who asks for them. A single
        release, ``1.32``, is the same as ``release="1.32"``.
    release
        The release to upgrade to, instead of elements.
    audit_log
        Recorded requests; without them callers are not known.

    Returns
    -------
    UpgradeReport
        The rows of ``upgrade_report`` about API versions: objects and manifests that are written in them or name them,
        callers, rules of roles, and webhooks and policies. ``prove()`` sends the recorded requests to forks of the
        cluster, as it is and after the change.

    Raises
    ------
    SimkitError
        Where neither elements nor a release are given, or both, where neither the release nor an earlier
        one serves an element, and where the release to upgrade to is an earlier one.

    Notes
    -----
    The cluster is not changed. O(size of the snapshot + recorded requests).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.removal_report(release="1.32").has_impact
    False
    """
    if release is None and len(elements) == 1 and is_release(elements[0]):
        release, elements = elements[0], ()
    if bool(elements) == bool(release):
        raise SimkitError("give either API versions to disable or a release to upgrade to")
    now = cluster.snapshot().release
    span = ReleaseSpan.of(now, release) if release else ReleaseSpan(now, now, elements)
    found = report_of(Items(tuple(stored_items(cluster.snapshot(), cluster.dump))), span, audit_log=audit_log)
    after = None if release else cluster.with_apis_disabled(*served_elements(span))
    return replace(found.of(*OF_REMOVALS), sandbox=cluster, after=after)
