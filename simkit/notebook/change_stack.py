"""A stack of changes on forks of a cluster, each of which can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as widgets

from simkit.analysis.access.compare import compare
from simkit.analysis.access.who_can import who_can
from simkit.analysis.rbac.tables import table
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import html_text
from simkit.notebook.background import Background
from simkit.notebook.suggestions import press_on_enter

if TYPE_CHECKING:
    import pandas as pd

    from simkit.cluster.cluster import Cluster


NEW: Final = "new"
GONE: Final = "gone"
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")


class ChangeStack:
    """A cluster and the changes made on forks of it. The cluster itself does not change.

    Examples
    --------
    >>> import simkit
    >>> trying = ChangeStack(simkit.Cluster(seed=1))
    >>> trying.without("ClusterRoleBinding cluster-admin")
    >>> [str(step) for step in trying.steps]
    ['without ClusterRoleBinding cluster-admin']
    >>> trying.undo()
    >>> trying.steps
    ()
    """

    def __init__(self, origin: Cluster) -> None:
        self.origin = origin
        self._tried: list[tuple[str, Cluster]] = []

    @property
    def steps(self) -> tuple[str, ...]:
        """The changes in the order in which they were made, in words."""
        return tuple(text for text, _ in self._tried)

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
        fork.delete(kind.lower(), inner if slash else name.strip(), namespace if slash else "")
        self._keep(f"without {binding.strip()}", fork)

    def apply(self, manifests: str) -> None:
        """Apply manifests. Raises SimkitError if they cannot be read, StatusError if the server refuses them."""
        fork = self.current.fork()
        stored = fork.apply(manifests) if manifests.strip() else []
        if not stored:
            raise SimkitError("there is no manifest in the text")
        first = f"{stored[0]['kind']} {stored[0]['metadata']['name']}"
        more = f" and {len(stored) - 1} more" if len(stored) > 1 else ""
        self._keep(f"with {first}{more}", fork)

    def undo(self) -> None:
        """Undo the last change, if there is one."""
        self._tried = self._tried[:-1]

    def clear(self) -> None:
        """Undo all changes."""
        self._tried = []

    def _keep(self, text: str, fork: Cluster) -> None:
        fork.settle()
        self._tried.append((text, fork))

    def who_can(self, *words: Any, **more: Any) -> pd.DataFrame:
        """The rows of ``who_can`` after the changes, with lost rows; after changes with a column ``change``.

        ``change`` is ``new`` for a grant that was not there before, ``gone`` for one that no longer is, else empty.
        """
        after = who_can(self.current.snapshot(), *words, **more)
        if not self._tried:
            return after
        before = who_can(self.origin.snapshot(), *words, **more)
        columns = tuple(map(str, after.columns))
        now, then = _rows(after), _rows(before)
        rows = [(GONE, *row) for row in then if row not in now]
        rows += [("" if row in then else NEW, *row) for row in now]
        rows.sort(key=lambda row: row[0] == "")
        return table(rows, ("change", *columns))

    def effect(self) -> pd.DataFrame:
        """The access gained and lost by all changes together: see ``simkit.analysis.access.compare``."""
        return compare(self.origin.snapshot(), self.current.snapshot())


def _rows(frame: pd.DataFrame) -> dict[tuple[Any, ...], None]:
    return dict.fromkeys(frame.itertuples(index=False, name=None))


# The controls of changes on forks: take a binding away, apply manifests, undo.


class ChangeControls(widgets.VBox):  # type: ignore[misc]
    """A binding to take away, manifests to apply, and the changes so far, which can be undone one by one."""

    def __init__(self, changes: ChangeStack, work: Background, changed: Callable[[], None]) -> None:
        self._changes, self._work, self._changed = changes, work, changed
        self.binding = widgets.Combobox(
            description="Binding", placeholder="RoleBinding namespace/name", layout=widgets.Layout(width="36em")
        )
        self.remove = widgets.Button(description="Without it", button_style="warning", icon="minus")
        self.manifests = widgets.Textarea(
            description="Manifests", placeholder="YAML to apply", layout=widgets.Layout(width="36em", height="7em")
        )
        self.attempt = widgets.Button(description="With them", button_style="success", icon="plus")
        self.undo = widgets.Button(description="Undo", disabled=True)
        self.clear = widgets.Button(description="Undo all", disabled=True)
        self.steps = widgets.HTML("<i>No change yet.</i>")
        self.remove.on_click(lambda _: self.take_away(self.binding.value))
        press_on_enter(self.remove, self.binding)
        self.attempt.on_click(lambda _: self._make(lambda: changes.apply(self.manifests.value)))
        self.undo.on_click(lambda _: self._make(changes.undo))
        self.clear.on_click(lambda _: self._make(changes.clear))
        rows = ([self.binding, self.remove], [self.manifests, self.attempt], [self.undo, self.clear, self.steps])
        super().__init__([widgets.HBox(row, layout=widgets.Layout(flex_flow="wrap")) for row in rows])

    def take_away(self, binding: str) -> None:
        """Delete a binding on a fork: ``ClusterRoleBinding admins``, ``RoleBinding dev/readers``."""
        self._make(lambda: self._changes.without(binding))

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
