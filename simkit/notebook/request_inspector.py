"""An inspector of requests: one request through the handler chain, with the decision of each stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pandas as pd

from simkit.analysis.rbac.subject import identity_of
from simkit.analysis.rbac.tables import subjects
from simkit.analysis.rbac.unknown_names import warn_of_unnamed_subject
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.message import Request
from simkit.meta.visible_text import html_text
from simkit.notebook.object_relations import object_yaml
from simkit.notebook.pages import Pages
from simkit.notebook.parts import Box, Button, Field, Text
from simkit.notebook.sections import Background, PanelBox
from simkit.notebook.suggestions import suggestions
from simkit.present.colours import GREEN, VERMILION
from simkit.snapshot.diff import ABSENT, FieldChange

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.traced_request import TracedRequest

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_MERGE_PATCH: Final = "application/merge-patch+json"


class RequestInspector(PanelBox):
    """A request of a subject, executed on a fork, with the decision of each stage of the handler chain.

    Examples
    --------
    >>> import simkit
    >>> shown = RequestInspector(simkit.Cluster(seed=1))
    >>> shown.subject.value, shown.path.value = "user:ann", "/api/v1/secrets"
    >>> shown.run.click()
    >>> shown.wait()
    >>> shown.steps.rows[["stage", "outcome"]].values.tolist()[-2:]
    [['authorization', 'denied'], ['answer', 'failed']]
    """

    title = "Request"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.traced: TracedRequest | None = None
        """The last request with its steps."""
        self.work = Background()
        self.subject = Field("As", placeholder="an administrator", width="40em")
        self.method = Field("Method", "GET", options=_METHODS, width="7em")
        self.path = Field("Path", "/api/v1/namespaces/default/pods", options=self._paths(), width="32em")
        self.body = Field("Body", placeholder="YAML or JSON; for PATCH, a merge patch", width="40em", lines=7)
        self.run = Button("Send to a fork", self._send_request, look="sk-action")
        self.answer, self.detail = Text(), Text()
        self.steps = Pages(empty="No answer.", label="stages of the handler chain")
        for field in (self.subject, self.method, self.path):
            field.on_enter(self.run)
        self.steps.on_choose(self._show_detail)
        question = Box([self.subject, Box([self.method, self.path], "sk-row"), self.body, self.run])
        super().__init__(question, self.work, self.answer, self.steps, self.detail)
        self.subject.options = _known_subjects(cluster)
        self.steps.clear()
        self._send_request()

    def _paths(self) -> tuple[str, ...]:
        """The collections that a field suggests."""
        found = []
        for each in self._cluster.engine.catalogue.stored():
            scope = "/namespaces/default" if each.namespaced else ""
            found.append(f"{each.path}{scope}/{each.resource}")
        return suggestions(sorted(found))

    def _send_request(self) -> None:
        subject, method, path = self.subject.value.strip(), self.method.value.strip().upper(), self.path.value.strip()
        text = self.body.value

        def traced() -> TracedRequest:
            body = _parsed(text) if method in ("POST", "PUT", "PATCH") else None
            media = _MERGE_PATCH if method == "PATCH" else "application/json"
            target = quote(path, safe="/?&=%:,.~-_!*'()")
            request = Request.of(method, target, body, content_type=media)
            identity = identity_of(subject) if subject else None
            if subject:
                warn_of_unnamed_subject(subject, self._cluster.snapshot())
            return self._cluster.trace_request(request, identity=identity)

        self.work.run("sending", traced, self._show, failed=self._show_nothing)

    def _show_nothing(self) -> None:
        """Take what became of an earlier request away."""
        self.traced = None
        self.answer.value = self.detail.value = ""
        self.steps.show(pd.DataFrame())

    def _show(self, traced: TracedRequest) -> None:
        self.traced = traced
        status = traced.response.status
        colour = GREEN if traced else VERMILION
        where = f", refused at {traced.refused_at}" if traced.refused_at else ""
        line = html_text(f"{traced.request.method} {traced.request.uri}")
        self.answer.value = f'<code>{line}</code> <b style="color:{colour}">{status}</b>{html_text(where)}'
        self.detail.value = ""
        self.steps.show(traced.to_frame())
        refused = next((number for number, step in enumerate(traced.steps) if step.refused), None)
        if refused is not None:
            self.steps.choose(refused)

    def _show_detail(self, row: dict[str, Any]) -> None:
        assert self.traced is not None
        step = self.traced.steps[self.steps.position]
        told = [*step.detail, *(line for change in step.changes for line in _change_lines(change))]
        head = html_text(f"{row['stage']}: {row['step']}: {row['outcome']}")
        lines = html_text("\n".join(told) or "nothing to add")
        self.detail.value = f"<p><b>{head}</b></p><pre style='white-space:pre-wrap'>{lines}</pre>"


def _known_subjects(cluster: Cluster) -> tuple[str, ...]:
    """The subjects that a field suggests; none where the bindings were not captured."""
    try:
        return suggestions(subjects(cluster.snapshot())["subject"])
    except IncompleteSnapshot:
        return ()


def _change_lines(change: FieldChange) -> Iterator[str]:
    """A changed field with its values as YAML, those that were there under a minus."""
    yield f"{change.path}:"
    for sign, value in (("-", change.before), ("+", change.after)):
        if value is not ABSENT:
            yield from (f"  {sign} {line}" for line in object_yaml(value).removesuffix("...\n").splitlines())


def _parsed(text: str) -> Any:
    """The body in a text. Raises SimkitError for what is no YAML."""
    try:
        return decode(text)
    except BrokenText as error:
        raise SimkitError(f"the body is no YAML: {error}") from None


inspect_request = RequestInspector
