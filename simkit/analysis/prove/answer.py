"""The answer to a question about all requests, or all objects: PASS, FAIL with counterexamples, or UNKNOWN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.rendering import text_lines
from simkit.analysis.result import Result
from simkit.meta.visible_text import html_text
from simkit.present.colours import GREEN, VERMILION

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["PASS", "FAIL", "UNKNOWN"]
PASS: Final = "PASS"
FAIL: Final = "FAIL"
UNKNOWN: Final = "UNKNOWN"


class NotReproduced(RuntimeError):
    """A counterexample that did not reproduce when it was executed. This is a fault of simkit, and never an answer."""


@dataclass(frozen=True)
class ProofAnswer(Result):
    """The answer to a claim about all requests or all objects. In a condition it is true only if it is PASS.

    Attributes
    ----------
    claim
        The claim in words.
    verdict
        ``PASS``: it holds for every case. ``FAIL``: ``counterexamples`` contradict it. ``UNKNOWN``: it was not
        decided, and ``why`` gives the reason.
    why
        The reason in one paragraph.
    counterexamples
        The cases that contradict the claim, each with subject, request, reason and executed; empty unless the verdict
        is FAIL.
    cases
        The classes of cases that were looked at, as a table.
    """

    claim: str
    verdict: Verdict
    why: str
    counterexamples: tuple[Any, ...] = ()
    cases: pd.DataFrame = field(default_factory=ReadableFrame, repr=False, compare=False)

    @property
    def passed(self) -> bool:
        """True if the claim holds for every case."""
        return self.verdict == PASS

    def __bool__(self) -> bool:
        return self.passed

    def to_frame(self) -> pd.DataFrame:
        """The classes of cases that were looked at, one per row; counterexamples come first."""
        return self.cases

    def summary(self) -> pd.DataFrame:
        """One row: claim, verdict, why."""
        return ReadableFrame([(self.claim, self.verdict, self.why)], columns=["claim", "verdict", "why"])

    def lines(self) -> Iterator[str]:
        """The verdict, the reason and the counterexamples, line by line."""
        yield f"{self.verdict}  {self.claim}"
        yield f"  {self.why}"
        yield from (f"  counterexample: {each}" for each in self.counterexamples)

    def __str__(self) -> str:
        return text_lines(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The verdict and the reason, above the cases, which open on a click."""
        colour = {PASS: GREEN, FAIL: VERMILION}.get(self.verdict, "inherit")
        head = f'<p style="color:{colour}"><b>{html_text(f"{self.verdict} {self.claim}")}</b></p>'
        told = "".join(f"<li>{html_text(str(each))}</li>" for each in self.counterexamples)
        table = ReadableFrame(self.cases)._repr_html_()
        opened = f"<details><summary>{len(self.cases)} cases</summary>{table}</details>" if len(self.cases) else ""
        return f"{head}<p>{html_text(self.why)}</p><ul>{told}</ul>{opened}"
