"""Predictions: a learner says what will happen, then it is done on a fork, and differences are explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from simkit.meta.visible_text import html_text
from simkit.notebook.answer_shape import shown, unknown_keys
from simkit.notebook.learner_code import run_learner_code
from simkit.notebook.verdict import Note, Verdict

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

Outcomes = Mapping[str, object]
_AS_TASK: Final = "write the word as the task does, in small letters and without spaces around it"


@dataclass(frozen=True)
class Prediction:
    """A question with several cases; for each the learner predicts the outcome.

    Parameters
    ----------
    cluster
        Where the cases are tried, on forks.
    task
        What is to be predicted, in words.
    ask
        A function that tries the cases on a fork, and gives back the outcome of each case by its name.
    explain
        A function that says why the outcome of a case is what it is: it gets a fork, the case and the prediction.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> served = lambda trial: {word: trial.engine.catalogue.lookup(word).group for word in ("pods", "jobs")}
    >>> Prediction(cluster, "The API groups of two resources.", served).check({"pods": "", "jobs": "apps"})
    Not yet: 1 of 2 is not as it should be.
      ✓ pods: ''
      ✗ jobs: you said 'apps', and it is otherwise
    """

    cluster: Cluster = field(repr=False)
    task: str
    ask: Callable[[Cluster], Outcomes] = field(repr=False)
    explain: Callable[[Cluster, str, object], str] | None = field(default=None, repr=False)

    def check(self, answer: object) -> Verdict:
        """The verdict on predictions by case. Cases without a prediction are open; unknown names are told."""
        actual = self.ask(self.cluster.fork())
        if not isinstance(answer, Mapping):
            wanted = ", ".join(map(repr, actual))
            return Verdict(
                (
                    Note(
                        False,
                        "the answer must be a dictionary",
                        (f"with the keys {wanted}", f"it is of the type {type(answer).__name__}: {shown(answer)}"),
                    ),
                )
            )
        notes = [self._note(case, answer.get(case), outcome) for case, outcome in actual.items()]
        unknown = unknown_keys(answer, list(actual))
        return Verdict((*([Note(False, *unknown)] if unknown else []), *notes))

    def _note(self, case: str, said: object, outcome: object) -> Note:
        if isinstance(said, bool) is isinstance(outcome, bool) and said == outcome:
            return Note(True, f"{case}: {outcome!r}")
        if said is None or said is ...:
            return Note(False, f"{case}: no prediction yet", (_form_of(outcome),))
        if not _has_form_of(said, outcome):
            return Note(False, f"{case}: you said {shown(said)}", (_form_of(outcome),))
        if isinstance(said, str) and isinstance(outcome, str) and said.strip().lower() == outcome.lower():
            return Note(False, f"{case}: you said {shown(said)}", (_AS_TASK,))
        return Note(False, f"{case}: you said {shown(said)}, and it is otherwise", self._why(case, said))

    def _why(self, case: str, said: object) -> tuple[str, ...]:
        if self.explain is None:
            return ()
        explain = self.explain
        told = run_learner_code(lambda: explain(self.cluster.fork(), case, said))
        return told.errors or tuple((told.value or "").splitlines())

    def _repr_html_(self) -> str:
        return f"<p><b>Predict.</b> {html_text(self.task)}</p>"


def _has_form_of(said: object, outcome: object) -> bool:
    """True for two truth values, two numbers, or two values of one other type."""
    if isinstance(said, bool) or isinstance(outcome, bool):
        return isinstance(said, bool) and isinstance(outcome, bool)
    if isinstance(outcome, int | float):
        return isinstance(said, int | float)
    return isinstance(said, type(outcome))


def _form_of(outcome: object) -> str:
    """The form in which a prediction is written."""
    if isinstance(outcome, bool):
        return "write True or False, without quotes"
    if isinstance(outcome, int):
        return "write a number, without quotes"
    return (
        "write one of the task's words, in quotes" if isinstance(outcome, str) else f"write a {type(outcome).__name__}"
    )
