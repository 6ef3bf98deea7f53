"""A panel for notebooks: the subjects that can do something, now and after changes on forks."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Final

import ipywidgets as widgets
import pandas as pd

from simkit.analysis.access.resolve import REQUEST_VERBS, SPECIAL_VERBS
from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.meta.names import GroupResource
from simkit.notebook.change_stack import ChangeStack
from simkit.notebook.pages import PAGE, Pages
from simkit.snapshot.protocol import Snapshot

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

OFFERED: Final = 200
"""The number of words that a field suggests; any other can be typed."""
_RESOURCES: Final = (
    *("secrets", "pods", "pods/exec", "pods/log", "serviceaccounts/token", "configmaps", "deployments", "nodes"),
    *("nodes/proxy", "clusterrolebindings", "rolebindings", "clusterroles", "roles", "users", "groups"),
)
_NAMESPACES: Final = GroupResource("", "namespaces")


class Panel(widgets.VBox):  # type: ignore[misc]
    """A panel that asks a cluster who may do something, makes changes on forks of it, and shows their effect.

    Mistakes are told in the panel, not raised; the cluster stays as it is.

    Examples
    --------
    >>> import simkit
    >>> shown = Panel(simkit.Cluster(seed=1))
    >>> shown.resource.value = "secrets"
    >>> shown.ask.click()
    >>> shown.answer.rows["subject"].tolist()[0]
    'group:system:masters'
    >>> shown.binding.value = "ClusterRoleBinding cluster-admin"
    >>> shown.remove.click()
    >>> shown.answer.rows[["change", "binding"]].values.tolist()[0]
    ['gone', 'cluster-admin']
    """

    def __init__(self, cluster: Cluster, *, page: int = PAGE) -> None:
        self.trying = ChangeStack(cluster)
        self.told = widgets.HTML()
        self.answer = Pages(page=page, empty="No question asked yet.")
        self.effect = Pages(page=page, empty="No change of access.")
        tables = widgets.Tab([self.answer, self.effect])
        tables.titles = ("Who can", "Effect")
        super().__init__([self._question(cluster.snapshot()), self._changes(), self.told, tables])

    def _question(self, snapshot: Snapshot) -> widgets.HBox:
        narrow = widgets.Layout(width="17em")
        self.verb = widgets.Combobox(
            value="get", options=(*REQUEST_VERBS, *SPECIAL_VERBS, "*"), description="Verb", layout=narrow
        )
        self.resource = widgets.Combobox(
            options=_RESOURCES, description="Resource", placeholder="secrets, pods/exec, ...", layout=narrow
        )
        self.name = widgets.Text(description="Name", placeholder="none", layout=narrow)
        self.namespace = widgets.Combobox(
            options=_namespaces(snapshot), description="Namespace", placeholder="anywhere", layout=narrow
        )
        self.ask = widgets.Button(description="Who can?", button_style="primary", icon="search")
        self.ask.on_click(lambda _: self._asked())
        return widgets.HBox(
            [self.verb, self.resource, self.name, self.namespace, self.ask], layout=widgets.Layout(flex_flow="wrap")
        )

    def _changes(self) -> widgets.Accordion:
        self.binding = widgets.Combobox(
            description="Binding", placeholder="RoleBinding namespace/name", layout=widgets.Layout(width="32em")
        )
        self.remove = widgets.Button(description="Without it", button_style="warning", icon="minus")
        self.manifests = widgets.Textarea(
            description="Manifests", placeholder="YAML to apply", layout=widgets.Layout(width="40em", height="9em")
        )
        self.attempt = widgets.Button(description="With them", button_style="success", icon="plus")
        self.undo = widgets.Button(description="Undo", disabled=True)
        self.clear = widgets.Button(description="Undo all", disabled=True)
        self.steps = widgets.HTML("<i>No change yet.</i>")
        self.remove.on_click(lambda _: self._tried(lambda: self.trying.without(self.binding.value)))
        self.attempt.on_click(lambda _: self._tried(lambda: self.trying.apply(self.manifests.value)))
        self.undo.on_click(lambda _: self._tried(self.trying.undo))
        self.clear.on_click(lambda _: self._tried(self.trying.clear))
        box = widgets.VBox(
            [
                widgets.HBox([self.binding, self.remove]),
                widgets.HBox([self.manifests, self.attempt]),
                widgets.HBox([self.steps, self.undo, self.clear]),
            ]
        )
        shown = widgets.Accordion([box], selected_index=0)
        shown.titles = ("What if",)
        return shown

    def _asked(self) -> None:
        self.told.value = ""
        self._guarded(self._answer)

    def _tried(self, change: Callable[[], None]) -> None:
        """Make a change, and show the answer and the effect again."""
        self.told.value = ""
        if self._guarded(change):
            self._show_steps()
            self._guarded(self._show_effect)
            if self.resource.value.strip():
                self._guarded(self._answer)

    def _guarded(self, act: Callable[[], None]) -> bool:
        """True if it succeeded; otherwise the panel shows the error."""
        try:
            act()
        except (SimkitError, StatusError, PlainError) as wrong:
            self.told.value = f'<b style="color:#D55E00">{escape(str(wrong))}</b>'
            return False
        return True

    def _answer(self) -> None:
        word = self.resource.value.strip()
        is_url = word.startswith("/")
        rows = self.trying.who_can(
            self.verb.value.strip(),
            "" if is_url else word,
            url=word if is_url else "",
            name=self.name.value.strip(),
            namespace=self.namespace.value.strip() or None,
        )
        self.answer.show(rows)
        self.binding.options = _bindings(rows)

    def _show_effect(self) -> None:
        rows = self.trying.effect() if self.trying.steps else pd.DataFrame()
        self.effect.show(rows)
        if self.trying.steps:
            gained = int((rows["change"] == "gained").sum())
            self.told.value = f"{gained:,} permissions gained, {len(rows) - gained:,} lost"

    def _show_steps(self) -> None:
        steps = self.trying.steps
        items = "".join(f"<li>{escape(step)}</li>" for step in steps)
        self.steps.value = f"<ol>{items}</ol>" if steps else "<i>No change yet.</i>"
        self.undo.disabled = self.clear.disabled = not steps


def _namespaces(snapshot: Snapshot) -> tuple[str, ...]:
    if _NAMESPACES not in snapshot.captured():
        return ()
    names = sorted(obj["metadata"]["name"] for obj in snapshot.scan(_NAMESPACES))
    return tuple(names[:OFFERED])


def _bindings(rows: pd.DataFrame) -> tuple[str, ...]:
    """The first bindings of an answer, in the panel's form."""
    there = rows[(rows["binding_kind"] != "") & (rows.get("change", "") != "gone")]
    found: dict[str, None] = {}
    for kind, name, scope in zip(there["binding_kind"], there["binding"], there["scope"]):
        found[f"{kind} {scope}/{name}" if kind == "RoleBinding" else f"{kind} {name}"] = None
        if len(found) == OFFERED:
            break
    return tuple(found)


def panel(cluster: Cluster, *, page: int = PAGE) -> Panel:
    """The panel of a cluster, for the last line of a cell."""
    return Panel(cluster, page=page)
