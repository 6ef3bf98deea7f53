"""Bars of tables: findings, subjects, roles, causes, plans, changes of access, operations, a blast radius; and a heat
map of namespaces by permissions.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgb

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.findings.nature import NATURES
from simkit.analysis.plots.style import ROOM, Row, Sheet, draw_rows, fitted, inches, listed
from simkit.analysis.rbac.objects import EVERYWHERE
from simkit.analysis.rendering import counted
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER
from simkit.present.colours import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

SEVERITY_TONES: Final = dict(zip(SEVERITIES, ("critical", "vermilion", "orange", "sky", "grey"), strict=True))
"""Names of colours, from dark to pale, which colour-blind readers tell apart."""


def findings_by_severity(findings: pd.DataFrame, *, top: int = 13, ax: Axes | None = None) -> Axes:
    """The number of findings of each check, stacked by severity, the worst on top.

    Parameters
    ----------
    findings
        A table of ``findings``: the columns ``check`` and ``severity`` are read.
    top, ax
        How many rows to show, and axes to draw into; None: a figure of its own.
    """
    counts = pd.crosstab(findings["check"], findings["severity"]) if len(findings) else pd.DataFrame()
    levels = [level for level in SEVERITY_TONES if level in counts.columns]
    ordered = counts[levels].sort_values(levels, ascending=False, kind="stable")
    rest = ordered.iloc[top:]
    more = f"; {counted(len(rest), 'more check')} found {int(rest.to_numpy().sum()):,}" if len(rest) else ""
    message = "No check found anything"
    if levels:
        worst = ordered[levels[0]]
        are = "is" if worst.sum() == 1 else "are"
        message = f"{worst.sum():,} of {counted(len(findings), 'finding')} {are} {levels[0]}"
        message += f", {worst.iloc[0]:,} of them by the check {worst.index[0]}" if worst.iloc[0] > 1 else ""
    rows = [Row(str(check), parts) for check, *parts in ordered.head(top).itertuples()]
    subtitle = f"Findings by check and severity, the checks with the worst findings first{more}"
    return draw_rows(ax, message, subtitle, rows, [(level, SEVERITY_TONES[level]) for level in levels], "findings")


def subjects_by_reach(reach: pd.DataFrame, *, top: int = 14, ax: Axes | None = None) -> Axes:
    """The subjects that hold the most sensitive permissions, cluster-wide ones in the darker colour.

    Parameters
    ----------
    reach
        A table of ``reach``: the columns ``subject``, ``cluster_wide`` and ``in_namespaces`` are read.
    top, ax
        As for ``findings_by_severity``.
    """
    columns = reach[["subject", "cluster_wide", "in_namespaces"]]
    rows = [Row(str(subject), counts) for subject, *counts in columns.head(top).itertuples(index=False)]
    most = int(reach["cluster_wide"].max()) if len(reach) else 0
    widest = int((reach["cluster_wide"] == most).sum())
    hold = f"{counted(widest, 'subject')} {'holds' if widest == 1 else 'hold'}"
    message = f"{hold} {counted(most, 'sensitive permission')} in the whole cluster"
    if not most:
        message = "Nobody holds a sensitive permission in the whole cluster"
    subtitle = f"Sensitive permissions of {_first(len(rows), len(reach), 'subject')} with any"
    key = [("in the whole cluster", "blue"), ("only in namespaces", "sky")]
    return draw_rows(ax, message, subtitle, rows, key, "sensitive permissions")


def _first(shown: int, every: int, noun: str) -> str:
    if every == 1:
        return f"the only {noun}"
    return f"the first {shown:,} of {every:,} {noun}s" if shown < every else f"the {every:,} {noun}s"


def causes_bars(causes: pd.DataFrame, *, top: int = 8, ax: Axes | None = None) -> Axes:
    """The number of escalation paths from each root cause, coloured by its nature.

    Parameters
    ----------
    causes
        A table of ``causes``: the columns ``cause``, ``nature``, ``paths`` and ``through`` are read.
    top, ax
        As for ``findings_by_severity``.
    """
    shown = causes[["cause", "nature", "paths", "through"]].head(top)
    key = list(zip(NATURES, ("vermilion", "orange", "blue", "green", "grey"), strict=True))
    key += [("begin elsewhere and pass through", "line")]
    rows = []
    for cause, nature, paths, through in shown.itertuples(index=False):
        note = f"{paths:,}" + (f", and {through:,} pass through" if through else "")
        rows.append(Row(str(cause), [*(paths if one == nature else 0 for one in NATURES), through], note))
    subtitle = f"Escalation paths that begin with {_first(len(rows), len(causes), 'root cause')}, by urgency"
    return draw_rows(ax, _most_of(list(map(int, causes["paths"]))), subtitle, rows, key, "escalation paths")


def _most_of(paths: Sequence[int]) -> str:
    """How few causes explain how much."""
    every = sum(paths)
    if not every:
        return "No root cause starts an escalation path" if paths else "No root cause was found"
    ranked = list(accumulate(sorted(paths, reverse=True)))
    few, explained = next((number, count) for number, count in enumerate(ranked, 1) if count * 3 >= every)
    start = "One root cause starts" if few == 1 else f"{few:,} root causes start"
    return f"{start} {explained:,} of {counted(every, 'escalation path')} ({explained / every:.0%})"


def plan_bars(
    steps: pd.DataFrame, *, before: tuple[int, int, int], diminishing_after: int = 0, top: int = 8,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """The paths, subjects and findings that remain after each change of a plan.

    Parameters
    ----------
    steps
        A table of ``plan``: the columns ``change``, ``remaining``, ``subjects`` and ``findings`` are read.
    before
        How many paths, subjects and findings there are before the first change.
    diminishing_after
        The number of changes after which others close few paths, for the message; 0: all of them.
    top, ax
        As for ``findings_by_severity``; the last row has what remains after the last change.
    """
    names = [f"{number}. {change[:1].upper()}{change[1:]}" for number, change in enumerate(steps["change"], 1)]
    columns = zip(before, ("remaining", "subjects", "findings"))
    left = list(zip(["Today", *names], *([first, *steps[column]] for first, column in columns)))
    if len(steps) > top:
        left[top:] = [(f"{top}. to {len(steps)}. {len(steps) - top + 1:,} more changes", *left[-1][1:])]
    rows = []
    for name, paths, subjects, findings in left:
        note = f"{counted(paths, 'path')}, {counted(subjects, 'subject')}, {counted(findings, 'finding')}"
        rows.append(Row(name, [paths, before[0] - paths], note))
    message = _closed([before[0], *map(int, steps["remaining"])], diminishing_after)
    subtitle = "Escalation paths, subjects with such a path, and findings that remain after each change"
    return draw_rows(ax, message, subtitle, rows, [("remain", "vermilion"), ("closed", "line")], "escalation paths")


def _closed(left: Sequence[int], enough: int) -> str:
    """What the changes close, and what those close that are worth the most."""
    every, last = left[0], len(left) - 1
    if not every or not last:
        return "No change is planned" if every else "There is no escalation path to close"
    enough = enough if 0 < enough < last else last
    first = "One change closes" if enough == 1 else f"{enough:,} changes close"
    message = f"{first} {1 - left[enough] / every:.0%} of the escalation paths"
    more = f"{last - enough:,} more {'closes' if last - enough == 1 else 'close'}"
    return f"{message}; {more} another {(left[enough] - left[-1]) / every:.0%}" if enough < last else message


def access_drift(changes: pd.DataFrame, *, top: int = 14, ax: Axes | None = None) -> Axes:
    """The number of permissions that each subject gained and lost, most changed first.

    Whoever gained or lost everything by a wildcard stands on top.

    Parameters
    ----------
    changes
        A table of ``compare``: the columns of subjects, ``change`` and what it is about are read.
    top, ax
        As for ``findings_by_severity``.
    """
    counts = _counts(changes)
    longest = max(int(counts[["gained", "lost"]].to_numpy().max(initial=0)), 1)
    rows = []
    for subject, *both in counts.head(top).itertuples():
        changed = [(both[0], both[1], "gained"), (both[2], both[3], "lost")]
        notes = [f"{'everything' if wild else f'{count:,}'} {change}" for count, wild, change in changed if count]
        rows.append(Row(str(subject), [longest if wild else count for count, wild, _ in changed], ", ".join(notes)))
    key = [("gained", "vermilion"), ("lost", "blue")]
    subtitle = f"Permissions gained and lost by {_first(len(rows), len(counts), 'subject')} whose access changed"
    return draw_rows(ax, "; ".join(_changed(counts)) or "Nobody's access changed", subtitle, rows, key, "permissions")


def _changed(counts: pd.DataFrame) -> Iterator[str]:
    """Who gained or lost what, the gravest first."""
    for change in ("gained", "lost"):
        everything = counts[f"{change}_all"]
        for some, what in ((counts[everything], "everything"), (counts[~everything & (counts[change] > 0)], "")):
            if len(some):
                who = some.index[0] if len(some) == 1 else counted(len(some), "subject")
                yield f"{who} {change} {what or counted(int(some[change].sum()), 'permission')}"


def _counts(changes: pd.DataFrame) -> pd.DataFrame:
    """The permissions gained and lost per subject, and whether by a wildcard; those first, then the most changed."""
    if "verb" in changes:
        everything = (changes["verb"] == "*") & (changes["resource"] == "*") & (changes["api_group"] == "*")
        permissions = pd.Series(1, changes.index)
    else:
        everything = changes["verbs"].map(lambda verbs: "*" in verbs) & changes["resources"].map(
            lambda names: "*.*" in names
        )
        permissions = changes["permissions"]
    columns: dict[str, Any] = {}
    for change in ("gained", "lost"):
        meant = changes["change"] == change
        columns[change], columns[f"{change}_all"] = permissions.where(meant, 0).astype(int), meant & everything
    summed = pd.DataFrame(columns).groupby(changes["subject"].astype(object)).sum()
    summed = summed.astype({"gained_all": bool, "lost_all": bool})
    keys = pd.DataFrame({"all": summed["gained_all"] | summed["lost_all"], "sum": summed["gained"] + summed["lost"]})
    return summed.loc[keys.sort_values(["all", "sum"], ascending=False, kind="stable").index]


_REACHED: Final = {
    states.EVERYTHING: "The whole cluster", states.NAMESPACE: "Namespaces", states.NODE: "Nodes",
    states.NODE_IDENTITY: "Credentials of nodes", SERVICE_ACCOUNT: "Service accounts", USER: "Users", GROUP: "Groups",
    states.SECRETS: "Secrets", states.RULES: "Roles", states.POD: "Pods", states.IMPACT: "Other harm",
}  # fmt: skip
"""What can be reached, the gravest first."""
_KIND: Final = re.compile(r"^(full access to|identity of node|node|pod|secret|the (rules of|secrets in)) |^\w+:")


def blast_bars(subject: str, reached: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """What a subject can reach, a bar for each kind; the darker, the fewer hops it takes.

    Parameters
    ----------
    subject
        Whose blast radius it is.
    reached
        The table of ``blast_radius``: the columns ``place``, ``kind``, ``name`` and ``hops`` are read.
    ax
        Axes to draw into; None: a figure of its own.
    """
    rows = []
    for kind, word in _REACHED.items():
        found = reached[reached["kind"] == kind]
        if len(found):
            names = listed(_names(found), ROOM - inches(f"{word}: "))
            hops = [int((found["hops"].clip(1, 3) == number).sum()) for number in (1, 2, 3)]
            rows.append(Row(f"{word}: {names}", hops))
    key = [("1 hop", "blue"), ("2 hops", "sky"), ("3 hops or more", "grey")]
    subtitle = "What the subject can reach by escalation, by kind and by the hops that it takes"
    return draw_rows(ax, _reach(subject, reached), subtitle, rows, key, "identities, objects and kinds of harm")


def _names(found: pd.DataFrame) -> list[str]:
    """The places by name, the nearest first; harm by what is done."""
    if found["kind"].iloc[0] == states.IMPACT:
        return [primitives().primitive(name).title.lower() for name in dict.fromkeys(map(str, found["name"]))]
    return [_KIND.sub("", str(place)) for place in found["place"]]


def _reach(subject: str, reached: pd.DataFrame) -> str:
    full = reached.loc[reached["kind"] == states.EVERYTHING, "hops"]
    others = int(reached["kind"].isin([USER, GROUP, SERVICE_ACCOUNT]).sum())
    can = [f"reach cluster-admin in {counted(max(int(full.min()), 1), 'hop')}"] if len(full) else []
    can += [f"act as {others:,} other {'identity' if others == 1 else 'identities'}"] if others else []
    return f"{subject} can {' and '.join(can)}" if can else f"{subject} can act as nobody else"


def subjects_by_role(graph: nx.MultiDiGraph[str], *, top: int = 9, ax: Axes | None = None) -> Axes:
    """The roles with the most subjects, with the names of these; cluster-wide ones in red.

    Parameters
    ----------
    graph
        An ``access_graph``, or a part of one (``graph.subgraph(...)``). Rules are not drawn; roles that do not exist
        are marked.
    top, ax
        As for ``findings_by_severity``.
    """
    wide, narrow = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for binding, data in graph.nodes(data=True):
        if data.get("layer") == "binding":
            for role in graph.successors(binding):
                (narrow if data["namespace"] else wide)[role].update(graph.predecessors(binding))
    ranked = sorted({*wide, *narrow}, key=lambda role: (-len(wide[role] | narrow[role]), -len(wide[role]), role))
    rows = []
    for role in ranked[:top]:
        text = f"{graph.nodes[role]['text']}{'' if graph.nodes[role]['exists'] else ' (missing)'}: "
        names = listed(sorted(wide[role] | narrow[role]), ROOM - inches(text))
        rows.append(Row(text + names, [len(wide[role]), len(narrow[role] - wide[role])]))
    missing = sum(not graph.nodes[role]["exists"] for role in ranked)
    message = "No binding grants a role"
    if ranked:
        most = counted(int(sum(rows[0].parts)), "subject")
        message = f"The role with the most subjects is {graph.nodes[ranked[0]]['text']}, with {most}"
    subtitle = f"Subjects of {_first(len(rows), len(ranked), 'bound role')}"
    subtitle += f"; {counted(missing, 'bound role')} {'does' if missing == 1 else 'do'} not exist" if missing else ""
    key = [("in the whole cluster", "vermilion"), ("in namespaces", "blue")]
    return draw_rows(ax, message, subtitle, rows, key, "subjects")


def operation_bars(workloads: pd.DataFrame, *, name: str = "operation", top: int = 14, ax: Axes | None = None) -> Axes:
    """The pods of each touched workload that stay ready, come back and are lost, the least available on top.

    Parameters
    ----------
    workloads
        A table of ``Operation.workloads``.
    name
        What was done, for the message.
    top, ax
        As for ``findings_by_severity``.
    """
    rows, columns = [], ["namespace", "workload", "ready_before", "ready_least", "ready_after"]
    ready = workloads[workloads["ready_before"] > 0].sort_values("ready_least", kind="stable")
    for namespace, workload, before, least, after in ready[columns].head(top).to_numpy():
        parts = [least, max(after - least, 0), max(before - max(least, after), 0)]
        rows.append(Row(f"{namespace}/{workload.partition('/')[2]}", parts, f"{least:,} of {before:,} stay"))
    without, idle = int((ready["ready_least"] == 0).sum()), len(workloads) - len(ready)
    message = (
        f"{'Every' if len(ready) else 'No'} workload {'keeps' if len(ready) else 'has'} a ready pod during the {name}"
    )
    if without:
        has = "has" if without == 1 else "have"
        message = f"{without:,} of {counted(len(ready), 'touched workload')} {has} no ready pod during the {name}"
    subtitle = f"Ready pods of {_first(len(rows), len(ready), 'workload')} that the operation touches"
    subtitle += f"; {idle:,} more had none before" if idle else ""
    key = [("stay ready", "green"), ("are back in the end", "orange"), ("are lost", "vermilion")]
    return draw_rows(ax, message, subtitle, rows, key, "pods")


CELL, NAME = 0.25, 2.6
"""Inches of a row, and of the names of namespaces and columns, at most."""
SLOPE: Final = 50


def access_heat_map(matrix: pd.DataFrame, *, top: int = 14, columns: int = 20, ax: Axes | None = None) -> Axes:
    """Namespaces by held permissions; the stronger a field, the more subjects hold the permission there.

    Parameters
    ----------
    matrix
        A table of ``exposure``: one row a namespace, one column a permission, numbers of subjects.
    top, columns
        How many namespaces and permissions are drawn at most, besides the whole cluster: those with the most.
    ax
        Axes to draw into; None: a figure of its own.
    """
    shown = _fullest(matrix, top, columns)
    names = ["whole cluster" if name == EVERYWHERE else fitted(str(name), NAME) for name in shown.index]
    left = max(map(inches, names), default=0) + 0.12
    heads = [fitted(str(name), NAME) for name in shown.columns]
    head = max(map(inches, heads), default=0) * math.sin(math.radians(SLOPE)) + 0.1
    shown = shown.iloc[:, : int((ROOM - left - head * 0.8) / (inches(f"{shown.to_numpy().max(initial=0):,}") + 0.06))]
    held = f"the fullest {len(shown)} of {matrix.any(axis=1).sum()} rows and {shown.shape[1]} of {matrix.any().sum()}"
    what = "have access to a resource" if matrix.columns.name == "resource" else "hold a permission"
    subtitle = f"Users, groups and service accounts that {what}, in {held} columns"
    sheet = Sheet(ax, _message(matrix), subtitle, body=CELL * len(shown) + head, left=left)
    sheet.in_inches()
    width, top_row = min((sheet.width - head * 0.8) / max(shown.shape[1], 1), 0.6), sheet.height - head
    numbers = shown.to_numpy(dtype=int)
    ramp = [sheet.colour(tone) for tone in ("band", "orange", "critical")]
    colours, scale = LinearSegmentedColormap.from_list("", ramp), LogNorm(1, max(int(numbers.max(initial=0)), 2))
    for (row, column), number in np.ndenumerate(numbers):
        if number:
            ground = colours(0.15 + 0.85 * float(scale(number)))
            x, y = column * width, top_row - (row + 1) * CELL
            sheet.axes.fill_between([x, x + width - 0.02], y, y + CELL - 0.02, color=ground, linewidth=0)
            light = float(np.dot(to_rgb(ground), (0.3, 0.6, 0.1))) > 0.5
            sheet.text(x + width / 2, y + CELL / 2, f"{number:,}", ha="center", color="#1F2328" if light else "white")
    for row, name in enumerate(names):
        sheet.text(-0.1, top_row - (row + 0.5) * CELL, name, ha="right")
    for column, text in enumerate(heads[: shown.shape[1]]):
        turned: dict[str, Any] = {"rotation": SLOPE, "rotation_mode": "anchor", "ha": "left", "va": "bottom"}
        sheet.text((column + 0.65) * width, top_row + 0.04, text, **turned)
    return sheet.axes


def _message(matrix: pd.DataFrame) -> str:
    """The most that is held: in the whole cluster, or else in a namespace."""
    if not matrix.to_numpy().any():
        return "Nobody holds any of the permissions"
    everywhere = EVERYWHERE in matrix.index and matrix.loc[EVERYWHERE].any()
    wide = EVERYWHERE if everywhere else str(matrix.max(axis=1).idxmax())
    held: Any = matrix.loc[wide]
    most, first = int(held.max()), str(held.idxmax())
    equal = int((held == most).sum())
    place = "in the whole cluster" if wide == EVERYWHERE else f"in {wide}"
    if matrix.columns.name == "resource":
        can = f"can use {first if equal == 1 else f'each of {equal:,} kinds of resources'}"
    else:
        can = next((one.title for one in risky_permission_table().permissions if one.id == first), f"hold {first}")
    return f"{counted(most, 'subject')} {can[:1].lower()}{can[1:]} {place}"


def _fullest(matrix: pd.DataFrame, top: int, columns: int) -> pd.DataFrame:
    """The rows and columns with the largest numbers first, none that are empty, and the whole cluster on top."""
    places = matrix.drop(index=EVERYWHERE, errors="ignore").sum(axis=1).nlargest(top).index
    kept = matrix.loc[[*([EVERYWHERE] if EVERYWHERE in matrix.index else []), *places]]
    kept = kept.loc[kept.any(axis=1), kept.any()]
    return kept[kept.sum().sort_values(ascending=False, kind="stable").index[:columns]]
