"""A panel for notebooks: who can do something, and who could after a change."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as widgets
import pandas as pd

from simkit.analysis.compare import compare
from simkit.analysis.who_can import who_can
from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.snapshot.protocol import Snapshot

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

PAGE: Final = 50
"""Rows that are shown at a time; however many there are, no more are sent to the browser."""
_CELL: Final = 120
"""Characters of a cell that are shown."""


class Pages(widgets.VBox):  # type: ignore[misc]
    """A table of which one page is shown, narrowed by words that its rows must hold.

    Notes
    -----
    Turning a page renders that page alone; narrowing is O(cells).
    """

    def __init__(self, rows: pd.DataFrame | None = None, *, page: int = PAGE) -> None:
        self._size = page
        self.filter = widgets.Text(
            placeholder="words that rows must hold", description="Filter", continuous_update=False
        )
        self.page = widgets.BoundedIntText(value=1, min=1, max=1, description="Page")
        self.count, self.shown = widgets.Label(), widgets.HTML()
        super().__init__([widgets.HBox([self.filter, self.page, self.count]), self.shown])
        self.filter.observe(self._narrow, "value")
        self.page.observe(self._render, "value")
        self.show(pd.DataFrame() if rows is None else rows)

    def show(self, rows: pd.DataFrame) -> None:
        """Put other rows into the table, at the first page."""
        self._all = rows
        self._texts: pd.Series[str] | None = None
        self._narrow()

    @property
    def rows(self) -> pd.DataFrame:
        """The rows that the filter leaves, of all pages."""
        return self._rows

    def _narrow(self, _: object = None) -> None:
        self._rows = self._all
        for word in self.filter.value.lower().split():
            if self._texts is None:
                self._texts = self._all.astype(str).agg(" ".join, axis=1).str.lower() if len(self._all) else pd.Series()
            self._rows = self._rows[self._texts[self._rows.index].str.contains(word, regex=False)]
        self.page.max = max(-(-len(self._rows) // self._size), 1)
        self.page.value = 1
        self._render()

    def _render(self, _: object = None) -> None:
        first = (self.page.value - 1) * self._size
        part = self._rows.iloc[first : first + self._size]
        self.count.value = f"of {self.page.max}; {len(self._rows):,} of {len(self._all):,} rows"
        self.shown.value = _table(part) if len(part) else "<p>Nothing.</p>"


def _table(rows: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(str(name).replace('_', ' '))}</th>" for name in rows.columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for row in rows.itertuples(index=False, name=None)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return escape(text if len(text) <= _CELL else f"{text[: _CELL - 4]} ...")


class WhoCan(widgets.VBox):  # type: ignore[misc]
    """Asks who may do something in a snapshot. Mistakes are told in the panel, not raised.

    Examples
    --------
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> panel = WhoCan(MemorySnapshot([], captured=["*"]))
    >>> panel.resource.value = "secrets"
    >>> panel.ask.click()
    >>> panel.answer.rows["subject"].tolist()
    ['system:masters']
    """

    def __init__(self, snapshot: Snapshot, *, page: int = PAGE) -> None:
        self._snapshot = snapshot
        self.verb = widgets.Text("get", description="Verb")
        self.resource = widgets.Text("", description="Resource", placeholder="secrets, pods/exec, ...")
        self.name = widgets.Text("", description="Name")
        self.namespace = widgets.Text("", description="Namespace", placeholder="anywhere")
        self.ask = widgets.Button(description="Who can?", button_style="primary")
        self.told, self.answer = widgets.HTML(), Pages(page=page)
        question = widgets.HBox([self.verb, self.resource, self.name, self.namespace, self.ask])
        super().__init__([question, self.told, self.answer])
        self.ask.on_click(self._answer)

    def _answer(self, _: object) -> None:
        resource, _slash, subresource = self.resource.value.strip().partition("/")
        try:
            rows = who_can(
                self._snapshot,
                self.verb.value.strip(),
                resource,
                subresource=subresource,
                name=self.name.value.strip(),
                namespace=self.namespace.value.strip() or None,
            )
        except SimkitError as wrong:
            self.told.value = f"<b>{escape(str(wrong))}</b>"
            self.answer.show(pd.DataFrame())
            return
        self.told.value = ""
        self.answer.show(rows)


class WhatIf(widgets.VBox):  # type: ignore[misc]
    """Tries manifests on a fork of a cluster and tells who gains and loses what. The cluster stays as it is."""

    def __init__(self, cluster: Cluster, *, page: int = PAGE) -> None:
        self._cluster = cluster
        self.manifests = widgets.Textarea(
            placeholder="YAML to apply", layout=widgets.Layout(width="100%", height="14em"), continuous_update=False
        )
        self.attempt = widgets.Button(description="What if?", button_style="primary")
        self.told, self.answer = widgets.HTML(), Pages(page=page)
        super().__init__([self.manifests, self.attempt, self.told, self.answer])
        self.attempt.on_click(self._answer)

    def _answer(self, _: object) -> None:
        trial = self._cluster.fork()
        try:
            stored = trial.apply(self.manifests.value)
            trial.settle()
            rows = compare(self._cluster.snapshot(), trial.snapshot())
        except (SimkitError, StatusError, PlainError) as wrong:
            self.told.value = f"<b>{escape(str(wrong))}</b>"
            self.answer.show(pd.DataFrame())
            return
        gained = int((rows["change"] == "gained").sum())
        self.told.value = f"{len(stored)} objects; {gained:,} permissions gained, {len(rows) - gained:,} lost"
        self.answer.show(rows)


def panel(cluster: Cluster, *, page: int = PAGE) -> widgets.Tab:
    """Both panels over a cluster, in tabs. Who can is asked of the cluster as it is when the panel is made."""
    tabs = widgets.Tab([WhoCan(cluster.snapshot(), page=page), WhatIf(cluster, page=page)])
    tabs.titles = ("Who can?", "What if?")
    return tabs
