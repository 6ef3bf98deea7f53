"""A viewer of escalation paths, which steps through the proof of one request by request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
import pandas as pd

from simkit.analysis.escalation import Escalations, Path, Proof, escalations
from simkit.analysis.escalation.prove.verdicts import COLOURS
from simkit.analysis.rbac.tables import subjects
from simkit.analysis.rbac.unknown_names import warn_of_unnamed_subject
from simkit.meta.visible_text import html_text
from simkit.notebook.background import Background
from simkit.notebook.pages import PAGE, Pages
from simkit.notebook.sections import PanelBox
from simkit.notebook.suggestions import press_on_enter, suggestions
from simkit.present.colours import BLUE

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

_GOALS = ("cluster-admin", "all secrets", "a node")


class EscalationViewer(PanelBox):
    """The escalation paths of a subject, or of everybody; the chosen one is executed on a fork, request by request.

    Enter on a path proves it. The requests of a proof are gone through with the arrow keys or the buttons.

    Examples
    --------
    >>> import simkit
    >>> shown = EscalationViewer(simkit.Cluster(seed=1), subject="user:ann")
    >>> shown.find.click()
    >>> shown.wait()
    >>> len(shown.paths.rows)
    0
    """

    title = "Escalations"

    def __init__(self, cluster: Cluster, subject: str = "", *, goal: str = "cluster-admin", page: int = PAGE) -> None:
        self._cluster = cluster
        self._found: Escalations | None = None
        self.proof: Proof | None = None
        """The proof that is shown; None before one was executed."""
        self.work = Background()
        wide = widgets.Layout(width="26em")
        self.subject = widgets.Combobox(
            value=subject, description="Subject", placeholder="everybody", options=(), layout=wide
        )
        self.goal = widgets.Combobox(value=goal, description="Goal", options=_GOALS, layout=wide)
        self.find = widgets.Button(description="Find paths", button_style="primary", icon="search")
        self.prove = widgets.Button(description="Prove", button_style="success", icon="play", disabled=True)
        self.paths = Pages(page=page, empty="Not looked for yet.", label="paths")
        self.verdict, self.step = widgets.HTML(), widgets.HTML()
        self.requests = Pages(page=page, empty="", label="requests of the proof")
        self.back = widgets.Button(description="Back", disabled=True, layout=widgets.Layout(width="6em"))
        self.next = widgets.Button(description="Next", disabled=True, layout=widgets.Layout(width="6em"))
        self.find.on_click(lambda _: self._find())
        press_on_enter(self.find, self.subject, self.goal)
        self.prove.on_click(lambda _: self._prove())
        self.paths.on_choose(lambda _: setattr(self.prove, "disabled", False))
        self.paths.on_activate(lambda _: self._prove())
        self.requests.on_choose(self._show_step)
        self.back.on_click(lambda _: self._turn(-1))
        self.next.on_click(lambda _: self._turn(+1))
        question = widgets.HBox(
            [self.subject, self.goal, self.find, self.prove], layout=widgets.Layout(flex_flow="wrap")
        )
        stepper = widgets.HBox([self.back, self.next, self.verdict])
        super().__init__([question, self.work, self.paths, stepper, self.step, self.requests])
        self.work.run("listing subjects", self._subjects, lambda found: setattr(self.subject, "options", found))

    def _subjects(self) -> tuple[str, ...]:
        return suggestions(subjects(self._cluster.snapshot())["subject"])

    def _find(self) -> None:
        subject, goal = self.subject.value.strip() or None, self.goal.value.strip()

        def found() -> Escalations:
            if subject:
                warn_of_unnamed_subject(self._cluster.snapshot(), subject)
            return escalations(self._cluster.snapshot(), subject, goal=goal, sandbox=self._cluster)

        self.work.run("looking for paths", found, self._show_paths, failed=self._show_nothing)

    def _show_paths(self, found: Escalations) -> None:
        self._found, self.prove.disabled = found, True
        self._show_proof(None)
        self.paths.empty = "There is no such path."
        self.paths.show(found.to_frame())

    def _show_nothing(self) -> None:
        """Take the answer to an earlier question away."""
        self._found, self.prove.disabled = None, True
        self._show_proof(None)
        self.paths.empty = "No answer."
        self.paths.show(pd.DataFrame())

    def _chosen(self) -> Path | None:
        place = self.paths.position
        if self._found is None or place < 0:
            return None
        path: Path = self._found[place]
        return path

    def _prove(self) -> None:
        path = self._chosen()
        if path is not None:
            self.work.run("executing the path on a fork", path.prove, self._show_proof)

    def _show_proof(self, proof: Proof | None) -> None:
        self.proof = proof
        self.requests.show(pd.DataFrame() if proof is None else _shown(proof))
        self.back.disabled = self.next.disabled = proof is None
        if proof is None:
            self.step.value = self.verdict.value = ""
        else:
            colour, why = COLOURS[proof.counted_as], f": {proof.reason}" if proof.reason else ""
            head = html_text(f"{proof.path.subject} → {proof.path.goal}{why}")
            self.verdict.value = f'<b style="color:{colour}">{html_text(proof.verdict)}</b> {head}'
            self.requests.choose(0)

    def _turn(self, step: int) -> None:
        number = self.requests.number + step
        if 0 <= number < len(self.requests.rows):
            self.requests.choose(number)

    def _show_step(self, row: dict[str, Any]) -> None:
        number = self.requests.number
        self.back.disabled, self.next.disabled = number == 0, number == len(self.requests.rows) - 1
        assert self.proof is not None
        step = int(row["step"])
        steps = self.proof.path.steps
        title = str(steps[step - 1]) if 0 < step <= len(steps) else "the goal is checked"
        asked = row["request"] or "nothing is sent"
        answer = f"<b>{row['status']}</b> {html_text(row['message'])}" if row["request"] else ""
        assumed = f"<p>Assumed: {html_text(row['assumption'])}</p>" if row["assumption"] else ""
        self.step.value = (
            f"<div style='border-left:4px solid {BLUE};padding:.2em 1em'>"
            f"<p>Request {number + 1} of {len(self.requests.rows)}, step {step}: <b>{html_text(title)}</b></p>"
            f"<p>{html_text(row['actor'])}</p><pre>{html_text(asked)}</pre><p>{answer}</p>{assumed}</div>"
        )


def _shown(proof: Proof) -> pd.DataFrame:
    """The requests of a proof; a step that sends none has no status."""
    frame = pd.DataFrame(proof.to_frame())
    return frame.assign(status=frame["status"].where(frame["request"] != "", "").astype(object))


def escalation_viewer(
    cluster: Cluster, subject: str = "", *, goal: str = "cluster-admin", page: int = PAGE
) -> EscalationViewer:
    """A viewer of the escalation paths of a subject (empty: of everybody), with proofs request by request."""
    return EscalationViewer(cluster, subject, goal=goal, page=page)
