"""Exercises for teaching: an answer is carried out on a fork, checked with the subjects' requests, and explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from simkit.analysis.access.compare import compare
from simkit.analysis.rbac.subject import parse_subject
from simkit.logic.rbac.binding import Subject
from simkit.meta.escaping import html_text
from simkit.meta.names import GroupResource
from simkit.notebook.access_checks import AccessCheck, must, must_not
from simkit.notebook.answer_change import carry_out, removed_by
from simkit.notebook.answer_grants import named_by_answer, resource_text
from simkit.notebook.answer_shape import SHAPES, Shape, is_empty, misfit, unknown_keys
from simkit.notebook.learner_code import run_learner_code
from simkit.notebook.state_checks import StateCheck, WriteCheck
from simkit.notebook.verdict import Note, Verdict

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

__all__ = ["Exercise", "Guess", "Note", "Verdict", "must", "must_not"]

Answer = str | Mapping[str, Any] | Sequence[Any] | Callable[["Cluster"], object]
"""Manifests, as text or objects, or a function that changes a given cluster."""
Check = AccessCheck | StateCheck | WriteCheck
_WRONG_CLUSTER: Final = (
    "a function must change the cluster that it gets, which is a fork: def answer(trial): trial.apply(...)",
    "run the notebook again from the cell that makes the cluster",
)
_SEVERAL: Final = 'this is one text with commas in it: write several words as {"...", "..."}'
SHOWN: Final = 8
"""Permissions beyond the task that are listed; a wide role has hundreds."""


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
        Whether the subjects named in the attempts may gain nothing beyond the attempts that must pass.
    carry_out
        How an answer is carried out: a function of a fork and the answer. By default functions are called with the
        fork, and all else is applied to it as manifests.
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
        trial, before = self.cluster.fork(), self.cluster.engine.store.revision
        outcome = run_learner_code(lambda: carry_out(answer, trial, self.carry_out))
        about = self._about(answer, before)
        if outcome.errors:
            return Verdict((*about, Note(False, outcome.title, outcome.errors)))
        trial.settle()
        notes = [*about, *(self._tried(attempt, trial) for attempt in self.attempts)]
        if self.exact:
            tried = notes[len(about) :]
            lacking = any(asked and not note.right for asked, note in zip(map(_asks_access, self.attempts), tried))
            notes.append(self._beyond(trial, "something else" if lacking else "more"))
        if not all(note.right for note in notes):
            notes += self._possible_causes(trial, before, outcome.value or "")
        return Verdict(tuple(notes))

    def _possible_causes(self, trial: Cluster, before: int, remark: str) -> list[Note]:
        """Notes about what may be behind the faults of an answer."""
        found = [Note(False, "the function changed nothing of this", (remark,))] if remark else []
        removed = removed_by(self.cluster, trial) if self.cluster.engine.store.revision == before else ()
        return [*found, Note(False, "the answer removed more than it should", removed)] if removed else found

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

    def _beyond(self, trial: Cluster, what: str) -> Note:
        """The note whether the subjects gained no more than they must. ``what``: how it is called if they did."""
        attempts = [each for each in self.attempts if isinstance(each, AccessCheck)]
        wanted = {_permission(attempt, trial) for attempt in attempts if attempt.allowed}
        named = {parse_subject(attempt.subject) for attempt in attempts}
        extra = []
        for row in compare(self.cluster.snapshot(), trial.snapshot()).itertuples(index=False):
            change, who, scope, verb, group, resource, only, url = map(str, row[:8])
            subject = parse_subject(who)
            if change == "gained" and subject in named and (subject, scope, verb, group, resource, only) not in wanted:
                words = [
                    verb,
                    url or resource_text(GroupResource(group, resource), trial),
                    *([only] if only else []),
                    "everywhere" if scope == "*" else f"in {scope}",
                ]
                extra.append(f"{who} also gained: {' '.join(words)}")
        if not extra:
            return Note(True, "nobody gained more than was asked for")
        if len(extra) > SHOWN:
            extra[SHOWN:] = [f"and {len(extra) - SHOWN} more"]
        return Note(False, f"{what} was given than was asked for", tuple(extra))

    def _repr_html_(self) -> str:
        return f"<p><b>Task.</b> {html_text(self.task)}</p>"


def _asks_access(attempt: Check) -> bool:
    return isinstance(attempt, AccessCheck) and attempt.allowed


def _wrong(title: str, *details: str) -> Verdict:
    return Verdict((Note(False, title, details),))


def _permission(attempt: AccessCheck, trial: Cluster) -> tuple[Subject, str, str, str, str, str]:
    """The permission of a check as a row of ``compare``."""
    word, slash, subresource = attempt.resource.partition("/")
    known = trial.engine.catalogue.lookup(word)
    resource = known.resource + slash + subresource
    scope = attempt.namespace if known.namespaced and attempt.namespace else "*"
    return parse_subject(attempt.subject), scope, attempt.verb, known.group, resource, attempt.name


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
        given = sorted({str(word) for word in cast("Iterable[object]", answer)} if several else {str(answer)})
        wanted = set(self.ask(trial))
        if wanted and not self.reveal and not any(word.strip() for word in given):
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
