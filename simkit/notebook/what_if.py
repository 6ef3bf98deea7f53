"""A panel of changes: take bindings away on forks, see who loses what and which escalation paths close, undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from simkit.analysis.escalation import compare_paths
from simkit.analysis.rbac.tables import bindings, table
from simkit.notebook.access_panel import told_effect
from simkit.notebook.background import Background
from simkit.notebook.change_stack import ChangeControls, ChangeStack
from simkit.notebook.pages import PAGE, Pages
from simkit.notebook.sections import PanelBox, Sections

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster


class WhatIfPanel(PanelBox):
    """The bindings of a cluster, of which each can be taken away on a fork; the effect on access and on paths.

    Enter on a binding takes it away. The cluster itself stays as it is.

    Examples
    --------
    >>> import simkit
    >>> shown = WhatIfPanel(simkit.Cluster(seed=1))
    >>> shown.changes.take_away("ClusterRoleBinding system:basic-user")
    >>> shown.wait()
    >>> shown.by_subject.rows[["change", "subject"]].values.tolist()
    [['lost', 'group:system:authenticated']]
    """

    title = "What if"

    def __init__(self, cluster: Cluster, *, page: int = PAGE) -> None:
        self.trying = ChangeStack(cluster)
        self.work = Background()
        self.bindings = Pages(page=page, empty="There is no binding.", label="bindings")
        self.changes = ChangeControls(self.trying, self.work, self._changed)
        self.by_subject = Pages(page=page, empty="No change of access.", label="who gains and loses")
        self.effect = Pages(page=page, empty="No change of access.", label="permissions gained and lost")
        self.paths = Pages(page=page, empty="No path opens or closes.", label="escalation paths")
        self.bindings.on_choose(lambda row: setattr(self.changes.binding, "value", _text(row)))
        self.bindings.on_activate(lambda row: self.changes.take_away(_text(row)))
        parts = {
            "Bindings": self.bindings,
            "Who loses what": self.by_subject,
            "Permissions": self.effect,
            "Escalation paths": self.paths,
        }
        self.sections = Sections(parts)
        super().__init__([self.changes, self.work, self.sections])
        self.bindings.clear()
        self.work.run("listing bindings", self._list, self.bindings.show, failed=self._show_nothing)

    def _show_nothing(self) -> None:
        """Say that the bindings are not known; the line above the table says why."""
        self.bindings.empty = "No answer."
        self.bindings.show(pd.DataFrame())

    def _list(self) -> pd.DataFrame:
        """One row per binding that is left."""
        rows = bindings(self.trying.current.snapshot())
        heads = ["binding_kind", "namespace", "binding", "role_kind", "role"]
        found = rows.groupby(heads, sort=False)["subject"].agg(tuple).reset_index()
        return table(found.itertuples(index=False, name=None), (*heads, "subjects"))

    def _changed(self) -> None:
        def found() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
            if not self.trying.steps:
                return self._list(), pd.DataFrame(), pd.DataFrame()
            paths = compare_paths(self.trying.origin.snapshot(), self.trying.current.snapshot())
            return self._list(), self.trying.effect(), paths

        self.work.run("comparing access", found, self._show)

    def _show(self, found: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]) -> None:
        rows, effect, paths = found
        self.bindings.show(rows)
        if not self.trying.steps:
            self.sections.chooser.value = "Bindings"
        self.by_subject.show(_by_subject(effect))
        if self.trying.steps:
            self.sections.chooser.value = "Who loses what"
        self.effect.show(effect)
        self.paths.show(paths)
        if self.trying.steps:
            self.work.tell(told_effect(effect))


def _text(row: dict[str, Any]) -> str:
    """A binding in the words of ``ChangeStack.without``."""
    where = f"{row['namespace']}/" if row["namespace"] else ""
    return f"{row['binding_kind']} {where}{row['binding']}"


def _by_subject(effect: pd.DataFrame) -> pd.DataFrame:
    """One row per subject and sort of change: how many permissions, where, and some of them."""
    if not len(effect):
        return pd.DataFrame()
    rows = []
    for (change, subject), part in effect.groupby(["change", "subject"], sort=False):
        named = dict.fromkeys(
            f"{verb} {what or url}" for verb, what, url in zip(part["verb"], part["resource"], part["url"])
        )
        more = (f"{len(named) - 8} more",) if len(named) > 8 else ()
        rows.append((change, subject, len(part), tuple(dict.fromkeys(part["scope"])), (*list(named)[:8], *more)))
    return table(rows, ("change", "subject", "permissions", "scopes", "what"))


def what_if_panel(cluster: Cluster, *, page: int = PAGE) -> WhatIfPanel:
    """A panel in which bindings are taken away on forks of a cluster, with the effect of it."""
    return WhatIfPanel(cluster, page=page)
