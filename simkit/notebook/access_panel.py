"""A panel for notebooks: the subjects that can do something, and the rule that permits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from simkit.analysis.access.resolve import REQUEST_VERBS, SPECIAL_VERBS
from simkit.analysis.access.who_can import who_can
from simkit.meta.names import GroupResource
from simkit.meta.objects import name_of
from simkit.notebook.pages import Pages
from simkit.notebook.parts import Box, Button, Field, Text
from simkit.notebook.sections import Background, PanelBox
from simkit.notebook.suggestions import suggestions
from simkit.notebook.verdict import rule_html
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

_RESOURCES: Final = (
    *("secrets", "pods", "pods/exec", "pods/log", "serviceaccounts/token", "configmaps", "deployments", "nodes"),
    *("nodes/proxy", "clusterrolebindings", "rolebindings", "clusterroles", "roles", "users", "groups"),
)
_NAMESPACES: Final = GroupResource("", "namespaces")


class Panel(PanelBox):
    """A panel that asks a cluster who may do something, and shows the rule of a chosen answer.

    Mistakes are told in the panel, not raised. Everything runs in the background.

    Examples
    --------
    >>> import simkit
    >>> shown = Panel(simkit.Cluster(seed=1))
    >>> shown.wait()
    >>> shown.answer.rows["subject"].tolist()[0]
    'group:system:masters'
    """

    title = "Who can"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.work = Background()
        self.answer = Pages(empty="Nobody.", label="who can")
        self.rule = Text()
        self.answer.on_choose(self._show_rule)
        self.verb = Field("Verb", "get", options=(*REQUEST_VERBS, *SPECIAL_VERBS, "*"))
        self.resource = Field("Resource", "secrets", options=_RESOURCES, placeholder="pods/exec, ...")
        self.name = Field("Name", placeholder="any")
        self.namespace = Field("Namespace", options=namespaces_of(cluster.snapshot()), placeholder="anywhere")
        self.ask = Button("Who can?", self.asked, look="sk-action")
        fields = (self.verb, self.resource, self.name, self.namespace)
        for field in fields:
            field.on_enter(self.ask)
        super().__init__(Box([*fields, self.ask], "sk-row"), self.work, self.answer, self.rule)
        self.answer.clear()
        self.asked()

    def asked(self) -> None:
        """Answer the question of the fields, in the background."""
        self.work.run("asking", self._rows, self._show, failed=self._show_nothing)

    def _rows(self) -> pd.DataFrame:
        word = self.resource.value.strip()
        is_url = word.startswith("/")
        return who_can(
            self._cluster.snapshot(),
            self.verb.value.strip(),
            "" if is_url else word,
            url=word if is_url else "",
            name=self.name.value.strip(),
            namespace=self.namespace.value.strip() or None,
        )

    def _show(self, rows: pd.DataFrame) -> None:
        self.rule.value = ""
        self.answer.empty = "Nobody."
        self.answer.show(rows)

    def _show_nothing(self) -> None:
        """Take the answer to an earlier question away."""
        self.rule.value = ""
        self.answer.empty = "No answer."
        self.answer.show(pd.DataFrame())

    def _show_rule(self, row: dict[str, Any]) -> None:
        self.rule.value = rule_html(self._cluster.snapshot(), row)


def namespaces_of(snapshot: Snapshot) -> tuple[str, ...]:
    """The first names of namespaces, for a field to suggest."""
    if _NAMESPACES not in snapshot.captured():
        return ()
    return suggestions(sorted(map(name_of, snapshot.scan(_NAMESPACES))))


panel = Panel
