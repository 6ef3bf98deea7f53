"""A panel of changes: take bindings away on forks, see who loses what and which escalation paths close, undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import yaml

from simkit.analysis.access.compare import compare, counted_changes
from simkit.analysis.escalation import compare_paths
from simkit.analysis.rbac.tables import bindings, table
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.meta.visible_text import html_text
from simkit.notebook.pages import Pages
from simkit.notebook.parts import Box, Button, Field, Sections, Text
from simkit.notebook.sections import Background, PanelBox
from simkit.present.escaping import shell_command
from simkit.snapshot.load import manifests as read_manifests

if TYPE_CHECKING:
    from simkit.analysis.manifest_plan.result import ManifestPlan
    from simkit.cluster.cluster import Cluster

_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")

_COMMANDS: Final = (
    '<pre tabindex="0" style="white-space:pre-wrap">{}</pre>'
    "<p>In Python, <code>.plan()</code> of this panel is the plan.</p>"
)
_END: Final = "end-of-manifests"
Handed = dict[tuple[str, str, str], tuple[Object | None, Object | None]]
"""By kind, namespace and name the object that is deleted, or the manifest that is applied."""


def _named(obj: Object) -> tuple[str, str, str]:
    return str(obj["kind"]), namespace_of(obj), name_of(obj)


class ChangeStack:
    """A cluster and the changes made on forks of it. The cluster itself does not change.

    Examples
    --------
    >>> import simkit
    >>> trying = ChangeStack(simkit.Cluster(seed=1))
    >>> trying.without("ClusterRoleBinding cluster-admin")
    >>> [str(step) for step in trying.steps]
    ['delete ClusterRoleBinding cluster-admin']
    >>> trying.undo()
    >>> trying.steps
    ()
    """

    def __init__(self, origin: Cluster) -> None:
        self.origin = origin
        self._tried: list[tuple[str, Cluster, Handed]] = []

    @property
    def steps(self) -> tuple[str, ...]:
        """The changes in the order in which they were made, in words."""
        return tuple(text for text, _, _ in self._tried)

    @property
    def current(self) -> Cluster:
        """The fork with all changes; the cluster itself if there are none."""
        return self._tried[-1][1] if self._tried else self.origin

    def without(self, binding: str) -> None:
        """Delete a binding, named as in tables: ``RoleBinding dev/readers``, ``ClusterRoleBinding admins``.

        Raises
        ------
        SimkitError, StatusError
            For what is no binding, and where there is none of that name.
        """
        kind, _, name = binding.strip().partition(" ")
        namespace, slash, inner = name.strip().partition("/")
        if kind not in _BINDINGS or not name or bool(slash) is not (kind == "RoleBinding"):
            raise SimkitError(f"{binding!r} is no binding; write RoleBinding namespace/name or ClusterRoleBinding name")
        fork = self.current.fork()
        where = (kind.lower(), inner if slash else name.strip(), namespace if slash else "")
        resource = GroupResource(RBAC_GROUP, f"{kind.lower()}s")
        gone = self.origin.snapshot().get(resource, *where[1:])
        fork.delete(*where)
        self._keep(f"delete {binding.strip()}", fork, {(kind, where[2], where[1]): (gone, None)})

    def apply(self, manifests: str) -> None:
        """Apply manifests. Raises SimkitError if they cannot be read, StatusError if the server refuses them."""
        fork = self.current.fork()
        stored = fork.apply(manifests) if manifests.strip() else []
        if not stored:
            raise SimkitError("there is no manifest in the text")
        first = f"{stored[0]['kind']} {stored[0]['metadata']['name']}"
        more = f" and {len(stored) - 1} more" if len(stored) > 1 else ""
        written = read_manifests(manifests, self.origin.release)
        self._keep(f"apply {first}{more}", fork, {_named(obj): (None, obj) for obj in written})

    def undo(self) -> None:
        """Undo the last change, if there is one."""
        self._tried = self._tried[:-1]

    def clear(self) -> None:
        """Undo all changes."""
        self._tried = []

    def _keep(self, text: str, fork: Cluster, handed: Handed) -> None:
        fork.settle()
        self._tried.append((text, fork, handed))

    def handed(self) -> tuple[list[Object], list[Object]]:
        """The manifests that were applied, and the objects of the cluster that were deleted, the last word on each."""
        last: Handed = {}
        for _, _, handed in self._tried:
            last |= handed
        return [new for _, new in last.values() if new is not None], [
            old for old, _ in last.values() if old is not None
        ]

    def plan(self) -> ManifestPlan:
        """What the changes do to the cluster, as ``Cluster.plan`` tells it."""
        applied, deleted = self.handed()
        return self.origin.plan(applied, configured=deleted)

    def as_commands(self) -> str:
        """The changes for a terminal: a command for each deletion, and one that applies the manifests."""
        applied, deleted = self.handed()
        lines = []
        for obj in deleted:
            where = ["-n", namespace_of(obj)] if namespace_of(obj) else []
            lines.append(shell_command("kubectl", "delete", obj["kind"].lower(), name_of(obj), *where))
        if applied:
            text = yaml.safe_dump_all(applied, sort_keys=False).rstrip("\n")
            lines.append(f"kubectl apply --server-side -f - <<'{_END}'\n{text}\n{_END}")
        return "\n".join(lines)

    def effect(self) -> pd.DataFrame:
        """The access gained and lost by all changes together: see ``simkit.analysis.access.compare``."""
        return compare(self.origin.snapshot(), self.current.snapshot())


class ChangeControls(Box):
    """A binding to take away, manifests to apply, and the changes so far, which can be undone one by one."""

    def __init__(self, changes: ChangeStack, work: Background, changed: Callable[[], None]) -> None:
        self._changes, self._work, self._changed = changes, work, changed
        self.binding = Field("Binding", placeholder="RoleBinding namespace/name", width="36em")
        self.remove = Button("Delete on a fork", lambda: self.take_away(self.binding.value), look="sk-danger")
        self.manifests = Field("Manifests", placeholder="YAML to apply", width="36em", lines=5)
        self.attempt = Button("Apply on a fork", self._apply, look="sk-action")
        self.undo = Button("Undo", lambda: self._make(changes.undo), disabled=True)
        self.clear = Button("Undo all", lambda: self._make(changes.clear), disabled=True)
        self.steps = Text("<i>No change yet.</i>")
        self.binding.on_enter(self.remove)
        rows = ([self.binding, self.remove], [self.manifests, self.attempt], [self.undo, self.clear, self.steps])
        super().__init__([Box(row, "sk-row") for row in rows])

    def take_away(self, binding: str) -> None:
        """Delete a binding on a fork: ``ClusterRoleBinding admins``, ``RoleBinding dev/readers``."""
        self._make(lambda: self._changes.without(binding))

    def _apply(self) -> None:
        self._make(lambda: self._changes.apply(self.manifests.value))

    def _make(self, change: Callable[[], None]) -> None:
        """Make a change, then show the changes so far and tell the panel. What is refused counts as no change."""

        def changed(_: None) -> None:
            self.show()
            self._changed()

        self._work.run("changing a fork", change, changed, always=True)

    def show(self) -> None:
        """Show the changes so far."""
        steps = self._changes.steps
        items = "".join(f"<li>{html_text(step)}</li>" for step in steps)
        self.steps.value = f"<ol>{items}</ol>" if steps else "<i>No change yet.</i>"
        self.undo.disabled = self.clear.disabled = not steps


class WhatIfPanel(PanelBox):
    """The bindings of a cluster, of which each can be taken away on a fork; the effect on access and on paths.

    Enter on a binding takes it away. The cluster itself stays as it is.

    Examples
    --------
    >>> import simkit
    >>> shown = WhatIfPanel(simkit.Cluster(seed=1))
    >>> shown.changes.take_away("ClusterRoleBinding system:basic-user")
    >>> shown.wait()
    >>> shown.effect.rows[["change", "subject"]].drop_duplicates().values.tolist()
    [['lost', 'group:system:authenticated']]
    """

    title = "What if"

    def __init__(self, cluster: Cluster) -> None:
        self.trying = ChangeStack(cluster)
        self.work = Background()
        self.bindings = Pages(empty="There is no binding.", label="bindings")
        self.changes = ChangeControls(self.trying, self.work, self._changed)
        self.effect = Pages(empty="No change of access.", label="who gains and loses")
        self.paths = Pages(empty="No path opens or closes.", label="escalation paths")
        self.bindings.on_choose(lambda row: setattr(self.changes.binding, "value", _text(row)))
        self.bindings.on_activate(lambda row: self.changes.take_away(_text(row)))
        self.as_plan = Text()
        parts = {
            "Bindings": self.bindings,
            "Who loses what": self.effect,
            "Escalation paths": self.paths,
            "Plan": self.as_plan,
        }
        self.sections = Sections(parts)
        self.sections.observe(lambda _: self._plan_it(), "chosen")
        super().__init__(self.changes, self.work, self.sections)
        self.bindings.clear()
        self.work.run("listing bindings", self._list, self.bindings.show, failed=self._show_nothing)

    def plan(self) -> ManifestPlan:
        """What the changes do to the cluster, as ``Cluster.plan`` tells it: objects, access, paths and the rest."""
        return self.trying.plan()

    def _plan_it(self) -> None:
        """Show the plan of the changes with their commands, if its section is."""
        if self.sections.chosen == "Plan":
            self.work.run("planning", self.plan, self._show_plan)

    def _show_plan(self, plan: ManifestPlan) -> None:
        self.as_plan.value = plan._repr_html_() + _COMMANDS.format(html_text(self.trying.as_commands()))

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
            self.sections.chosen = "Bindings"
        if self.trying.steps:
            self.sections.chosen = "Who loses what"
        self.effect.show(effect)
        self.paths.show(paths.drop(columns=["cost", "primitives"], errors="ignore"))  # the path tells it in words
        if self.trying.steps:
            told = zip(effect["change"], effect["permissions"])
            counts = counted_changes(change for change, number in told for _ in range(number))
            wide = any("*" in what for what in (*effect["verbs"], *effect["resources"]))
            self.work.tell(counts + (" (a wildcard counts as one)" if wide else ""))


def _text(row: dict[str, Any]) -> str:
    """A binding in the words of ``ChangeStack.without``."""
    where = f"{row['namespace']}/" if row["namespace"] else ""
    return f"{row['binding_kind']} {where}{row['binding']}"


what_if_panel = WhatIfPanel
