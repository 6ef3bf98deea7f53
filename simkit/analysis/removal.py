"""Who would notice if versions went: stored objects, callers, roles, webhooks and policies; proven on a fork."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pandas as pd

from simkit.analysis import removal_gone
from simkit.analysis.auditlog import Log
from simkit.analysis.rbac.tables import table
from simkit.analysis.removal_gone import GoneTable
from simkit.analysis.removal_objects import OBJECT_COLUMNS, traces
from simkit.analysis.removal_replay import ANSWER_COLUMNS, replay
from simkit.analysis.removal_requests import Recorded, recorded
from simkit.analysis.removal_rules import HOOK_COLUMNS, RULE_COLUMNS, naming_hooks, naming_rules
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.protocol import Sandbox, Snapshot

GONE_COLUMNS: Final = ("api_version", "kind", "resource", "left", "replacement")
CALLER_COLUMNS: Final = (
    "user",
    "caller",
    "agent",
    "api_version",
    "resource",
    "gone",
    "verbs",
    "requests",
    "codes",
    "last",
)


class Trimmable(Sandbox, Protocol):
    """A sandbox whose forks can leave versions out."""

    def without(self, *elements: str) -> Sandbox:
        """A fork that no longer serves some versions, groups or resources of versions."""
        ...


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes, and everybody who would notice. Tables without rows where nobody would."""

    title: str
    gone: pd.DataFrame
    """One row a resource of a version: api_version, kind, resource, left (other versions), replacement."""
    objects: pd.DataFrame
    """One row a sign in a stored object: evidence, api_version, kind, resource, namespace, name, where, manager."""
    callers: pd.DataFrame
    """One row a user, program and resource: user, caller (who impersonated), agent, api_version, resource, gone (the
    first release without it; empty where no release took it away), verbs, requests, codes, last. When a release is
    come to, also who asks for what is gone already."""
    rules: pd.DataFrame
    """One row a rule of a role: role_kind, namespace, role, rule, api_version, resource, verdict."""
    hooks: pd.DataFrame
    """One row a part of a webhook, policy or API service: kind, name, part, api_version, resource, verdict."""
    answers: pd.DataFrame
    """One row a different request: who, what, how often, the recorded code, the codes before and after, verdict."""

    @property
    def noticed(self) -> bool:
        """Whether anybody would notice: kept rules and mere last applies do not count."""
        serious = self.objects[~self.objects["evidence"].isin(["applied"])] if len(self.objects) else self.objects
        hooks = self.hooks[self.hooks["verdict"] != "kept"] if len(self.hooks) else self.hooks
        rules = self.rules[self.rules["verdict"] == "dead"] if len(self.rules) else self.rules
        return any(len(part) for part in (serious, self._concerned_callers(), hooks, rules))

    def _concerned_callers(self) -> pd.DataFrame:
        """The callers of what goes now, without those of what is gone already."""
        if not len(self.callers):
            return self.callers
        going = set(zip(self.gone["api_version"], self.gone["resource"], strict=True))
        asked = zip(self.callers["api_version"], self.callers["resource"], strict=True)
        return self.callers[[pair in going for pair in asked]]

    def summary(self) -> pd.DataFrame:
        """One row a sort of evidence: what, how many, an example."""
        rows: list[tuple[Any, ...]] = [
            ("gone: resources of versions", len(self.gone), _first(self.gone, "api_version"))
        ]
        for evidence, count in Counter(self.objects["evidence"]).items():
            example = self.objects[self.objects["evidence"] == evidence].iloc[0]
            rows.append((f"objects: {evidence}", count, f"{example['resource']} {example['name']}"))
        concerned = self._concerned_callers()
        rows.append(("callers", len(concerned), _first(concerned, "user")))
        if len(self.callers) > len(concerned):
            early = self.callers.drop(concerned.index)
            rows.append(("callers of what is gone already", len(early), _first(early, "user")))
        for name, part in (("rules", self.rules), ("hooks", self.hooks), ("answers", self.answers)):
            for verdict, count in Counter(part["verdict"]).items():
                example = part[part["verdict"] == verdict].iloc[0]
                rows.append(
                    (f"{name}: {verdict}", count, str(example.get("role") or example.get("name") or example.iloc[0]))
                )
        return table(rows, ("what", "count", "example"))

    def __repr__(self) -> str:
        breaks = int((self.answers["verdict"] == "breaks").sum()) if len(self.answers) else 0
        return (
            f"<Removal {self.title}: {len(self.gone)} resources of versions go; {len(self.objects)} signs in objects, "
            f"{len(self._concerned_callers())} callers, {breaks} different requests break>"
        )


def _first(part: pd.DataFrame, column: str) -> str:
    return str(part.iloc[0][column]) if len(part) else ""


def who_would_notice(
    cluster: Trimmable, *elements: str, release: str | None = None, requests: Log | None = None
) -> Removal:
    """Everybody who would notice if a cluster no longer served some versions, or came to another release.

    Parameters
    ----------
    cluster
        Where objects are stored; forks of it answer the requests.
    elements
        Versions (``flowcontrol.apiserver.<domain>/v1beta3``), groups or resources of versions to take away.
    release
        Instead of elements: the release to come to.
    requests
        An audit log. Requests to what goes are sent again to a fork as it is and to one without the elements.

    Raises
    ------
    SimkitError
        When neither elements nor a release are given, or both.

    Notes
    -----
    Nothing is changed: what the log has of writes is carried out on forks alone.
    """
    if bool(elements) == bool(release):
        raise SimkitError("give either versions to take away or a release to come to")
    snapshot = cluster.snapshot()
    old = Catalogue.for_release(snapshot.release)
    if release:
        title, gone = f"{snapshot.release} -> {release}", removal_gone.between(old, Catalogue.for_release(release))
    else:
        title, gone = f"without {', '.join(elements)}", removal_gone.without(old, elements)
    early = removal_gone.gone_before(old, Catalogue.for_release(release)) if release else None
    sent = [each for each in recorded(requests or ()) if _concerned(each, gone) or _concerned(each, early)]
    asked = [each for each in sent if _concerned(each, gone)]
    answers = []
    if asked:
        after = cluster.fork(release=release) if release else cluster.without(*elements)
        answers = list(replay(asked, cluster.fork(), after))
    return Removal(
        title,
        table([(g.api_version, g.kind, g.resource, g.left, g.replacement) for g in gone.gone], GONE_COLUMNS),
        table(traces(snapshot, gone), OBJECT_COLUMNS),
        callers(sent, gone, early),
        table(_rules(snapshot, gone), RULE_COLUMNS),
        table(naming_hooks(snapshot, gone), HOOK_COLUMNS),
        table(answers, ANSWER_COLUMNS),
    )


def _rules(snapshot: Snapshot, gone: GoneTable) -> list[Any]:
    try:
        return list(naming_rules(snapshot, gone))
    except IncompleteSnapshot:
        return []


def _concerned(each: Recorded, gone: GoneTable | None) -> bool:
    return gone is not None and gone.resource(each.api_version, each.resource) is not None


def callers(requests: Sequence[Recorded], *tables: GoneTable | None) -> pd.DataFrame:
    """Who sent requests, one row a user, impersonator, program, version and resource, the busiest first."""
    found: dict[tuple[str, ...], list[Recorded]] = {}
    for each in requests:
        caller = each.caller if each.caller != each.identity.user else ""
        since = next(
            (one.since for one in (t.resource(each.api_version, each.resource) for t in tables if t) if one), ""
        )
        key = (each.identity.user, caller, each.agent, each.api_version, each.resource, since)
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
