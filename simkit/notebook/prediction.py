"""Predictions: a learner says what will happen, then it is done on a fork, and differences are explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from simkit.notebook.verdict import Note, Verdict

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

Outcomes = Mapping[str, object]


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
            return Verdict((Note(False, "the answer must be a dictionary", (f"with the keys {wanted}",)),))
        notes = [self._note(case, answer.get(case), outcome) for case, outcome in actual.items()]
        unknown = [Note(False, f"{case}: there is no such case") for case in answer if case not in actual]
        return Verdict((*notes, *unknown))

    def _note(self, case: str, said: object, outcome: object) -> Note:
        if said == outcome and type(said) is type(outcome):
            return Note(True, f"{case}: {said!r}")
        if said is None or said is ...:
            return Note(False, f"{case}: no prediction yet")
        if type(said) is not type(outcome):
            kind = type(outcome).__name__
            return Note(False, f"{case}: you said {said!r}", (f"the outcome is of the type {kind}",))
        why = self.explain(self.cluster.fork(), case, said) if self.explain is not None else ""
        return Note(False, f"{case}: you said {said!r}, and it is otherwise", tuple(why.splitlines()))

    def _repr_html_(self) -> str:
        return f"<p><b>Predict.</b> {escape(self.task)}</p>"
