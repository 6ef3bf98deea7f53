"""Exercises for teaching: an answer is carried out on a fork, checked with requests of subjects, and explained; or the
learner predicts what will happen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from simkit.meta.visible_text import html_text
from simkit.notebook.access_checks import AccessCheck, StateCheck, WriteCheck, must, must_not
from simkit.notebook.answer_effects import access_beyond, named_by_answer, objects_beyond
from simkit.notebook.answer_shape import SHAPES, Shape, is_empty, misfit, shown, unknown_keys
from simkit.notebook.learner_code import Attempt, as_it_is, carry_out, removed_by, run_learner_code
from simkit.notebook.verdict import Note, Verdict

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster


__all__ = ["Exercise", "Guess", "Note", "Verdict", "as_it_is", "must", "must_not"]

Answer = str | Mapping[str, Any] | Sequence[Any] | Callable[["Cluster"], object]
"""Manifests, as text or objects, or a function that changes a given cluster."""
Check = AccessCheck | StateCheck | WriteCheck
_AGAIN: Final = "run the notebook again from the cell that makes the cluster"
_WRONG_CLUSTER: Final = (
    "a function must change the cluster that it gets, which is a fork: def answer(trial): trial.apply(...)",
    _AGAIN,
)
_WAS_SO: Final = (
    "a cell has changed the cluster that the exercise starts from: it is right without the answer",
    _AGAIN,
)
_SEVERAL: Final = 'this is one text with commas in it: write several words as {"...", "..."}'


@dataclass(frozen=True)
class Exercise:
    """A task over a cluster, with the checks of its result.

    Parameters
    ----------
    cluster
        Where the reader starts. It stays as it is: answers are carried out on forks of it.
    task
        What is to be done, in words; it is shown when the exercise is.
    attempts
        What must be true afterwards: requests that must pass or be refused (``must``, ``must_not``), objects that must
        be accepted or refused (``must_accept``, ``must_refuse``), and anything else (``must_hold``).
    exact
        Whether an answer may do no more than the attempts say: nobody gains what need not pass or loses what need not
        be refused, and no object that was there is changed or removed.
    may_change
        Objects that an answer may change or remove nevertheless, such as ``roles shop/till-reader`` or ``pods shop/*``.
        If it is given, all others must stay as they are, also without ``exact``.
    carry_out
        How an answer is carried out: a function of a fork and the answer. By default functions are called with the
        fork, and all else is applied to it as manifests. ``as_it_is``: the checks look at the answer itself.
    shape
        What an answer must be (``"dictionary"``, ``"list"``, ``"pair"``, ``"text"``, ``"function"``). Other answers are
        told so, and are not carried out.
    keys
        The keys that a dictionary may have. Others are told, with the ones that they are like.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> task = Exercise(cluster, "Let ann see pods.", [must("user:ann", "list", "pods", namespace="default")])
    >>> answer = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "ann"},
    ...     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    ...     "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]}
    >>> task.check(answer)
    Right.
      ✓ user:ann can list pods in default
    >>> bool(task.check({**answer, "subjects": []}))
    False
    """

    cluster: Cluster = field(repr=False)
    task: str
    attempts: Sequence[Check] = field(repr=False)
    exact: bool = field(default=False, repr=False)
    may_change: Collection[str] | None = field(default=None, repr=False)
    carry_out: Callable[[Cluster, Any], object] | None = field(default=None, repr=False)
    shape: Shape | None = field(default=None, repr=False)
    keys: Sequence[str] = field(default=(), repr=False)

    def check(self, answer: Any) -> Verdict:
        """The verdict on an answer. Answers that are refused, cannot be read or raise errors are wrong."""
        shape = self.shape or ("manifest" if self.carry_out is None else None)
        if is_empty(answer):
            return _wrong("the answer is empty", self.task, *([f"write {SHAPES[shape][1]}"] if shape else []))
        wrong_shape = misfit(answer, shape)
        if wrong_shape:
            return _wrong(wrong_shape[0], *wrong_shape[1])
        trial, before = Attempt.on(self.cluster), self.cluster.engine.store.revision
        outcome = run_learner_code(lambda: carry_out(answer, trial, self.carry_out))
        about = self._about(answer, before)
        if outcome.errors:
            return Verdict((*about, Note(False, outcome.title, outcome.errors)))
        warned = tuple(trial.warned)
        trial.settle()
        beyond = self._beyond(trial)
        tried = [self._tried(attempt, trial) for attempt in self.attempts]
        notes = [*about, *tried, *self._extra_access(trial, tried), *beyond]
        if not all(note.right for note in notes):
            notes += self._possible_causes(trial, before, outcome.value or "", told=bool(beyond))
            notes += [Note(False, "the server took the answer with a warning", warned)] if warned else []
        elif self.carry_out is not as_it_is and self._holds_already():
            notes.append(Note(False, "everything was so before the answer", _WAS_SO))
        return Verdict(tuple(notes))

    def _possible_causes(self, trial: Cluster, before: int, remark: str, *, told: bool) -> list[Note]:
        """Notes about what may be behind the faults of an answer. ``told``: what it changed is told already."""
        found = [Note(False, "the function changed nothing of this", (remark,))] if remark else []
        here = self.cluster.engine.store.revision == before and not told
        removed = removed_by(self.cluster, trial) if here else ()
        return [*found, Note(False, "the answer removed more than it should", removed)] if removed else found

    def _holds_already(self) -> bool:
        """True if every check is right without an answer: then somebody has changed the cluster that it starts from."""
        untouched = self.cluster.fork()
        untouched.settle()
        found = run_learner_code(lambda: all(self._tried(attempt, untouched).right for attempt in self.attempts))
        return found.value is True  # a check may need what the answer makes, such as a definition

    def _about(self, answer: Any, before: int) -> list[Note]:
        """Notes about the answer itself: keys that are none, and a change of the cluster that learners start from."""
        unknown = unknown_keys(answer, self.keys)
        found = [Note(False, *unknown)] if unknown else []
        if self.cluster.engine.store.revision != before:
            found.append(Note(False, "the answer changed the cluster that the exercise starts from", _WRONG_CLUSTER))
        return found

    def _tried(self, attempt: Check, trial: Cluster) -> Note:
        if not isinstance(attempt, AccessCheck):
            return attempt.note(trial)
        tried = attempt.tried(trial)
        if tried.passed:
            return Note(True, str(tried))
        others = named_by_answer(self.cluster, trial, attempt.subject) if attempt.allowed else ()
        return Note(False, str(tried), (*tried.why, *others, *([attempt.hint] if attempt.hint else [])))

    def _extra_access(self, trial: Cluster, tried: Sequence[Note]) -> list[Note]:
        """The note whether an answer gave or took more than it must, if the exercise asks for that."""
        if not self.exact:
            return []
        extra = access_beyond(self.cluster, trial, [each for each in self.attempts if isinstance(each, AccessCheck)])
        if not extra:
            return [Note(True, "nobody gained or lost more than was asked for")]
        lacking = any(asked and not note.right for asked, note in zip(map(_asks_access, self.attempts), tried))
        return [Note(False, f"{'something else' if lacking else 'more'} was done than was asked for", extra)]

    def _beyond(self, trial: Cluster) -> list[Note]:
        """The note about objects that an answer had to leave alone, if there are any."""
        if not self.exact and self.may_change is None:
            return []
        found = objects_beyond(self.cluster, trial, self.may_change or ())
        return [Note(False, "something was changed or removed that had to stay as it was", found)] if found else []

    def _repr_html_(self) -> str:
        return f"<p><b>Task.</b> {html_text(self.task)}</p>"


def _asks_access(attempt: Check) -> bool:
    return isinstance(attempt, AccessCheck) and attempt.allowed


def _wrong(title: str, *details: str) -> Verdict:
    return Verdict((Note(False, title, details),))


@dataclass(frozen=True)
class Guess:
    """A question whose answer is a set of words, which the cluster itself gives.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> groups = Guess(cluster, "Which verbs?", lambda cluster: {"get", "list"})
    >>> groups.check(["get", "watch"])
    Not yet: 2 of 3 are not as it should be.
      ✓ get
      ✗ watch
          this is not among the answers
      ✗ something is missing
          1 more
    """

    cluster: Cluster = field(repr=False)
    task: str
    ask: Callable[[Cluster], Iterable[str]] = field(repr=False)
    """A function that gives the right answer from a fork of the cluster."""
    reveal: bool = field(default=False, repr=False)
    """True if missing words are named."""
    explain: Callable[[Cluster, str], str] | None = field(default=None, repr=False)
    """A function that explains why one word is, or is not, among the answers."""

    def check(self, answer: object) -> Verdict:
        """The verdict on a word, or a set of words; other values are taken as their text."""
        if answer is None or answer is ...:
            return _wrong("the answer is empty", self.task, f"write {SHAPES['words'][1]}")
        wrong_shape = misfit(answer, "words")
        if wrong_shape:
            return _wrong(wrong_shape[0], *wrong_shape[1])
        trial = self.cluster.fork()
        several = isinstance(answer, Iterable) and not isinstance(answer, str)
        words = cast("Iterable[object]", answer) if several else [answer]
        given = sorted({str(word).strip() for word in words})
        wanted = set(self.ask(trial))
        if wanted and not self.reveal and not any(given):
            return _wrong("the answer is empty", self.task, f"write {SHAPES['words'][1]}")
        notes = [self._note(trial, word, wanted) for word in given]
        missing = sorted(wanted - set(given))
        if missing:
            told = tuple(missing) if self.reveal else (f"{len(missing)} more",)
            notes.append(Note(False, "something is missing", told))
        return Verdict(tuple(notes))

    def _note(self, trial: Cluster, word: str, wanted: set[str]) -> Note:
        shown = word or "(the empty text)"
        if word in wanted:
            return Note(True, shown)
        several = [_SEVERAL] if "," in word else []
        if self.explain is None:
            return Note(False, shown, ("this is not among the answers", *several))
        explain = self.explain
        told = run_learner_code(lambda: explain(trial, word))
        return Note(False, shown, (*several, *(told.errors or (told.value or "").splitlines())))

    def _repr_html_(self) -> str:
        return f"<p><b>Question.</b> {html_text(self.task)}</p>"


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
