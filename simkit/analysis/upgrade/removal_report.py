"""Use of API versions that a release removes: stored objects, callers and configuration, proven on a fork."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pandas as pd

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.audit_log.requests import RecordedRequest, recorded_requests
from simkit.analysis.rbac.subject import text_of_user
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Result
from simkit.analysis.upgrade.configuration import (
    CONFIGURATION_COLUMNS,
    RULE_COLUMNS,
    configuration_references,
    rule_references,
)
from simkit.analysis.upgrade.removed_resources import (
    RemovedResources,
    removed_already,
    removed_before,
    removed_between,
    removed_by_disabling,
    served_elements,
)
from simkit.analysis.upgrade.replay import REPLAY_COLUMNS, replay
from simkit.analysis.upgrade.stored_objects import OBJECT_COLUMNS, manifest_evidence, object_evidence
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.schema.catalogue import Catalogue
from simkit.schema.releases import is_release, release_name
from simkit.snapshot.dump import Dump
from simkit.snapshot.protocol import Sandbox, Snapshot

REMOVED_COLUMNS: Final = ("api_version", "kind", "resource", "left", "replacement")
CALLER_COLUMNS: Final = (
    "subject",
    "impersonator",
    "agent",
    "api_version",
    "resource",
    "removed_in",
    "verbs",
    "requests",
    "codes",
    "last",
)
_NOT_KNOWN: Final = "not known"


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


@dataclass(frozen=True, slots=True)
class RemovalReport(Result):
    """The removed resources and their users, as DataFrames; a table is empty where nothing is found.

    ``title`` names the change: ``1.30 -> 1.32``, or the versions that are disabled.
    """

    title: str
    removed: pd.DataFrame
    """One row per resource of a removed version: api_version, kind, resource, left (versions that are still served),
    replacement."""
    objects: pd.DataFrame
    """One row per piece of evidence in a stored object: evidence, api_version, kind, resource, namespace, name, where
    (the field), manager (the field manager). For a release it also lists manifests in versions that earlier releases
    removed."""
    callers: pd.DataFrame
    """One row per subject, user agent and resource: subject, impersonator (empty for themselves), agent, api_version,
    resource, removed_in (the first release without it; empty where no release removed it), verbs, requests, codes,
    last. For a release it also lists callers of versions that earlier releases removed."""
    rules: pd.DataFrame
    """One row per rule of a role that names a removed resource: role_kind, namespace, role, rule,
    api_version, resource, verdict."""
    configurations: pd.DataFrame
    """One row per part of a webhook, policy, API service or flow schema: kind, name, part, api_version, resource,
    verdict."""
    replayed: pd.DataFrame
    """One row per distinct request that was sent again: the columns of ``replay.ReplayedRequest``."""
    callers_known: bool = True
    """True if recorded requests were given; without them nothing is known of callers."""

    def to_frame(self) -> pd.DataFrame:
        """One row per sort of evidence, as ``summary``; the evidence itself is in the tables."""
        return self.summary()

    @property
    def has_impact(self) -> bool:
        """True if anything in use stops working. Rules that stay and last-applied annotations do not count."""
        serious = self.objects[~self.objects["evidence"].isin(["applied"])] if len(self.objects) else self.objects
        found = self.configurations
        configurations = found[found["verdict"] != "kept"] if len(found) else found
        rules = self.rules[self.rules["verdict"] == "dead"] if len(self.rules) else self.rules
        return any(len(part) for part in (serious, self.current_callers(), configurations, rules))

    def current_callers(self) -> pd.DataFrame:
        """The callers of the versions that this change removes; those of earlier removals are left out."""
        if not len(self.callers):
            return self.callers
        going = set(zip(self.removed["api_version"], self.removed["resource"], strict=True))
        asked = zip(self.callers["api_version"], self.callers["resource"], strict=True)
        return self.callers[[pair in going for pair in asked]]

    def summary(self) -> pd.DataFrame:
        """DataFrame with one row per sort of evidence: what, count (or ``not known``), example."""
        rows: list[tuple[Any, ...]] = [
            ("removed: resources of versions", len(self.removed), _first(self.removed, "api_version"))
        ]
        for evidence, count in Counter(self.objects["evidence"]).items():
            example = self.objects[self.objects["evidence"] == evidence].iloc[0]
            rows.append((f"objects: {evidence}", count, f"{example['resource']} {example['name']}"))
        concerned = self.current_callers()
        rows.append(("callers", len(concerned) if self.callers_known else _NOT_KNOWN, _first(concerned, "subject")))
        if len(self.callers) > len(concerned):
            earlier = self.callers.drop(concerned.index)
            rows.append(("callers of what is gone already", len(earlier), _first(earlier, "subject")))
        for name, part in (("rules", self.rules), ("configurations", self.configurations), ("replayed", self.replayed)):
            for verdict, count in Counter(part["verdict"]).items():
                example = part[part["verdict"] == verdict].iloc[0]
                rows.append(
                    (f"{name}: {verdict}", count, str(example.get("role") or example.get("name") or example.iloc[0]))
                )
        return table(rows, ("what", "count", "example"))

    def __repr__(self) -> str:
        breaks = int((self.replayed["verdict"] == "breaks").sum()) if len(self.replayed) else 0
        callers = len(self.current_callers()) if self.callers_known else _NOT_KNOWN
        return (
            f"<RemovalReport {self.title}: {len(self.removed)} resources removed; "
            f"evidence in objects: {len(self.objects)}; callers: {callers}; "
            f"distinct requests that break: {breaks}>"
        )


def _first(part: pd.DataFrame, column: str) -> str:
    return str(part.iloc[0][column]) if len(part) else ""


def removal_report(
    cluster: ApiDisablingSandbox, *elements: str, release: str | None = None, audit_log: AuditLog | None = None
) -> RemovalReport:
    """Report everything that uses API versions which a cluster no longer serves, or which another release removes.

    Parameters
    ----------
    cluster
        The cluster that is looked at. Requests are sent to forks of it.
    elements
        Versions (``flowcontrol.apiserver.<domain>/v1beta3``), groups or resources of versions to disable. Of those
        that an earlier release removed, the report lists what is still written in them and who asks for them. A single
        release, ``1.32``, is the same as ``release="1.32"``.
    release
        The release to upgrade to, instead of elements.
    audit_log
        Recorded requests; without them callers are not known. Those for removed versions are sent again to two
        forks: as the cluster is, and after the change.

    Returns
    -------
    RemovalReport
        ``summary()`` counts what was found; the DataFrames list it.

    Raises
    ------
    SimkitError
        Where neither elements nor a release are given, or both, or where neither the release nor an earlier
        one serves an element.

    Notes
    -----
    The cluster is not changed: recorded writes are executed on forks alone. O(size of the snapshot + recorded
    requests).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.removal_report(release="1.32").has_impact
    False
    """
    only = elements[0] if elements and not elements[1:] else ""
    if release is None and is_release(only):
        elements, release = (), release_name(only)
    if bool(elements) == bool(release):
        raise SimkitError("give either API versions to disable or a release to upgrade to")
    snapshot = cluster.snapshot()
    old = Catalogue.for_release(snapshot.release)
    if release:
        new = Catalogue.for_release(release)
        title, removed, earlier = (
            f"{snapshot.release} -> {release}",
            removed_between(old, new),
            removed_before(old, new),
        )
    else:
        title = f"without {', '.join(elements)}"
        removed, earlier = removed_by_disabling(old, elements), removed_already(old, elements)
    sent = [each for each in recorded_requests(audit_log or ()) if _uses(each, removed) or _uses(each, earlier)]
    asked = [each for each in sent if _uses(each, removed)]
    written = manifest_evidence(cluster.dump, snapshot, removed, earlier) if cluster.dump is not None else ()
    answers = []
    if asked:
        after = (
            cluster.fork(release=release) if release else cluster.with_apis_disabled(*served_elements(old, elements))
        )
        answers = list(replay(asked, cluster.fork(), after))
    return RemovalReport(
        title,
        table([(g.api_version, g.kind, g.resource, g.left, g.replacement) for g in removed.resources], REMOVED_COLUMNS),
        table([*object_evidence(snapshot, removed), *written], OBJECT_COLUMNS),
        callers(sent, removed, earlier),
        table(_rules(snapshot, removed), RULE_COLUMNS),
        table(configuration_references(snapshot, removed), CONFIGURATION_COLUMNS),
        table(answers, REPLAY_COLUMNS),
        audit_log is not None,
    )


def _rules(snapshot: Snapshot, removed: RemovedResources) -> list[Any]:
    try:
        return list(rule_references(snapshot, removed))
    except IncompleteSnapshot:
        return []


def _uses(each: RecordedRequest, removed: RemovedResources | None) -> bool:
    return removed is not None and removed.resource(each.api_version, each.resource) is not None


def callers(requests: Sequence[RecordedRequest], *tables: RemovedResources | None) -> pd.DataFrame:
    """DataFrame with one row per subject, impersonator, user agent, version and resource, the busiest first."""
    found: dict[tuple[str, ...], list[RecordedRequest]] = {}
    for each in requests:
        sender = each.caller if each.caller != each.identity.user else ""
        since = next(
            (one.since for one in (t.resource(each.api_version, each.resource) for t in tables if t) if one), ""
        )
        key = (
            text_of_user(each.identity.user),
            text_of_user(sender),
            each.agent,
            each.api_version,
            each.resource,
            since,
        )
        found.setdefault(key, []).append(each)
    rows = [
        (
            *key,
            tuple(sorted({each.verb for each in listed})),
            len(listed),
            tuple(sorted({each.code for each in listed})),
            max(each.time for each in listed),
        )
        for key, listed in sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    ]
    return table(rows, CALLER_COLUMNS)
