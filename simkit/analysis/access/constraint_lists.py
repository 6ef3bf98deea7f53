"""Those whom SecurityContextConstraints of OpenShift name in their own fields ``users`` and ``groups``.

The admission of pods takes these lists for as much as a role that allows to ``use`` the constraint. No authorizer of
the server knows them, so an access review about ``use`` says no. Answers name both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.objects import EVERYWHERE
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.logic.rbac.question import Question
from simkit.meta.attributes import Attributes
from simkit.meta.objects import name_of
from simkit.seams.authorization import OPENSHIFT
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.openshift import CONSTRAINTS, named_by

_USE: Final = "use"
_lists: SnapshotMemo[tuple[tuple[str, Subject], ...]] = SnapshotMemo()


def lists_of(snapshot: Snapshot) -> tuple[tuple[str, Subject], ...]:
    """The name of each constraint with each subject that it names; empty for clusters that are not of OpenShift."""
    return _lists.of(snapshot, lambda one: tuple(_lists_of(one)))


def _lists_of(snapshot: Snapshot) -> Iterator[tuple[str, Subject]]:
    if snapshot.authorization.provider == OPENSHIFT and CONSTRAINTS in snapshot.captured():
        for constraint in snapshot.scan(CONSTRAINTS):
            for kind, name in named_by(constraint):
                yield name_of(constraint), normalize_subject(Subject(kind, name))


def rows_of_lists(snapshot: Snapshot, question: Question) -> Iterator[tuple[Any, ...]]:
    """The rows of ``who_can`` about ``use`` that come from lists, of the whole cluster."""
    if (question.verb, question.group, question.resource, question.subresource) != (_USE, *CONSTRAINTS, ""):
        return
    for constraint, subject in lists_of(snapshot):
        if question.name in (None, constraint):
            names = (constraint,) if question.name is None else ()
            yield (text_of(subject), "", EVERYWHERE, "", told(constraint), "", "", -1, names)


def rules_of_lists(snapshot: Snapshot, subject: Subject, via: str) -> Iterator[tuple[Any, ...]]:
    """The rows of ``permissions`` that come from lists that name a subject."""
    group, resource = CONSTRAINTS
    for constraint, listed in lists_of(snapshot):
        if listed.principal == subject.principal:
            what = ((_USE,), (group,), (resource,), (constraint,), ())
            yield (EVERYWHERE, *what, True, via, "", told(constraint), "", "", -1)


def listed(snapshot: Snapshot, ask: Attributes) -> str:
    """The sentence about a list that names somebody who asks about ``use``; empty if none does."""
    if (ask.verb, ask.group, ask.resource, ask.subresource) != (_USE, *CONSTRAINTS, ""):
        return ""
    mine = {(USER, ask.identity.user), *((GROUP, name) for name in ask.identity.groups)}
    for constraint, subject in lists_of(snapshot):
        if ask.name == constraint and subject.principal in mine:
            return (
                f"SecurityContextConstraints {constraint} names {text_of(subject)} itself, so the admission of pods "
                "lets it be used; no role does, and an access review says no"
            )
    return ""


def told(constraint: str) -> str:
    """What stands in place of a binding."""
    return f"(list of SecurityContextConstraints {constraint}, for admission only)"
