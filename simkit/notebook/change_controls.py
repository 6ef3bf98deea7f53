"""The controls of changes on forks: take a binding away, apply manifests, undo."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from simkit.meta.visible_text import html_text
from simkit.notebook.background import Background
from simkit.notebook.change_stack import ChangeStack
from simkit.notebook.enter_key import press_on_enter


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
