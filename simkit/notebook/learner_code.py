"""Answers to exercises carried out on a fork, and calls of learners' code, whose errors are explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from simkit.cluster.cluster import Cluster
from simkit.cluster.control_plane import ControlPlane
from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.meta.names import Key
from simkit.notebook.verdict import error_lines, line_of_answer

if TYPE_CHECKING:
    from simkit.meta.identity import Identity
    from simkit.meta.message import Request, Response


T = TypeVar("T")
_NO_END: Final = "does each loop come to an end? Count the rounds, and leave the loop after the last one"


@dataclass(frozen=True, slots=True)
class CodeOutcome(Generic[T]):
    """The value of a call, or the lines that explain its error, with a title for them."""

    value: T | None = None
    errors: tuple[str, ...] = ()
    title: str = ""


def run_learner_code(call: Callable[[], T]) -> CodeOutcome[T]:
    """The outcome of a call of a learner's code; it raises no error of that code.

    One that the learner interrupts is told like an error.
    """
    try:
        return CodeOutcome(call())
    except (SimkitError, StatusError, PlainError) as wrong:
        told = tuple(str(wrong).splitlines()) or (type(wrong).__name__,)
        title = "the server does not take the answer" if isinstance(wrong, StatusError) else "the answer does not work"
        return CodeOutcome(errors=(*told, *line_of_answer(wrong)), title=title)
    except KeyboardInterrupt as stopped:
        return CodeOutcome(errors=(*line_of_answer(stopped), _NO_END), title="the answer was interrupted")
    except (Exception, SystemExit) as wrong:  # learners make any mistake, and a check may call their code again
        return CodeOutcome(errors=tuple(error_lines(wrong)), title="the answer stopped with an error")


class Attempt(Cluster):
    """A fork of a cluster that notes what the server warns of, such as a field that it does not know and leaves out.

    Examples
    --------
    >>> import simkit
    >>> trial = Attempt.on(simkit.Cluster(seed=1))
    >>> made = trial.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "date": {"b": "c"}})
    >>> trial.warned
    ['unknown field "date"']
    """

    warned: list[str]
    """The warnings so far, each once."""

    @classmethod
    def on(cls, origin: Cluster) -> Self:
        """An attempt on a fork of a cluster."""
        trial = cls._of(origin.forked(), origin.dump)
        trial.warned = []
        return trial

    def _derived(self, made: ControlPlane) -> Self:
        trial = super()._derived(made)
        trial.warned = []
        return trial

    def perform(self, request: Request, *, identity: Identity | None = None) -> Response:
        """The answer to a request, through the whole handler chain; its warnings are noted."""
        response = super().perform(request, identity=identity)
        self.warned += (text for text in response.warnings if text not in self.warned)
        return response


def as_it_is(trial: Cluster, answer: Any) -> None:
    """Nothing is carried out: for exercises (``Exercise(carry_out=...)``) whose checks look at the answer itself."""


def carry_out(answer: Any, trial: Cluster, how: Callable[[Cluster, Any], object] | None) -> str:
    """Change a fork as an answer says. Functions are called with it, and all else is applied to it as manifests.

    Parameters
    ----------
    answer
        A function, text, mapping, or list of mappings.
    trial
        The fork.
    how
        What carries out the answer instead.

    Returns
    -------
    str
        A remark for learners whose answer turns out to be wrong; mostly empty.
    """
    if how is not None:
        how(trial, answer)
        return ""
    if callable(answer):
        return _remark(answer(trial))
    trial.apply(f"{answer}\n" if isinstance(answer, str) else answer)  # the end of a line tells text from a path
    return ""


def _remark(given: object) -> str:
    """A remark about a function that gives back manifests instead of applying them."""
    if isinstance(given, str | Mapping) or (isinstance(given, Sequence) and given and isinstance(given[0], Mapping)):
        return "the function gave something back, and nothing is done with it: call trial.apply(...) in the function"
    return ""


MANY: Final = 5
"""Removed objects of which no answer needs as many."""
SHOWN: Final = 8


def removed_by(before: Cluster, after: Cluster) -> tuple[str, ...]:
    """Lines about the namespaces that an answer removed, or about the objects, if it removed many.

    Parameters
    ----------
    before, after
        The cluster without and with the answer.
    """
    gone = sorted(_keys(before) - _keys(after), key=str)
    spaces = [key.name for key in gone if key.resource.resource == "namespaces" and not key.resource.group]
    if spaces:
        return tuple(f"the namespace {name} is gone, with everything in it" for name in spaces)
    if len(gone) <= MANY:
        return ()
    more = [f"and {len(gone) - SHOWN} more"] if len(gone) > SHOWN else []
    return (*map(str, gone[:SHOWN]), *more)


def _keys(cluster: Cluster) -> set[Key]:
    engine = cluster.engine
    return set(chain.from_iterable((e.key for e in engine.store.scan(r.storage)) for r in engine.catalogue.stored()))
