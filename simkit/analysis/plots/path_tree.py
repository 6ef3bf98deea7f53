"""Escalation paths as a tree that ends in the goal: shared endings once, like places folded into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from simkit.analysis.rbac.objects import display_name, kind_of
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.path import Path

ROOT: Final = "root cause"
START: Final = "start"
KINDS: Final = {
    SERVICE_ACCOUNT: "service account",
    USER: "user",
    GROUP: "group",
    "pod": "pod",
    "node": "node",
    "namespace": "namespace",
    "rules": "role",
    "secrets": "secret",
    "RoleBinding": "role binding",
    "ClusterRoleBinding": "cluster role binding",
}
"""The singular of each kind, for folded states."""


@dataclass
class Branch:
    """A place, the step from it towards the goal, and the places before it.

    ``members`` are the places that it stands for; ``weight`` is the number of paths that pass it.
    """

    text: str
    kind: str
    role: str = ""
    step: str = ""
    members: list[str] = field(default_factory=list)
    weight: int = 0
    before: list[Branch] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The text in its box."""
        count = len(self.members)
        if count <= 1:
            return self.text
        return f"{count:,} {plural(KINDS.get(self.kind, 'place'))}" if self.role != START else _starts(self.members)

    def leaves(self) -> int:
        """The number of rows that it takes."""
        return sum(one.leaves() for one in self.before) or 1


def plural(word: str) -> str:
    """A noun for several things."""
    return f"{word}s"


def _starts(members: Sequence[str]) -> str:
    """The numbers of service accounts, users and groups at the start."""
    words = {"sa": "service account", "user": "user", "group": "group"}
    counts = Counter(words.get(text.partition(":")[0], "place") for text in members)
    return ", ".join(f"{number:,} {word if number == 1 else plural(word)}" for word, number in counts.most_common())


def path_trees(paths: Iterable[Path], rows: int) -> list[Branch]:
    """The ends of the paths with all that leads to them, folded until they take about so many rows."""
    ends: list[Branch] = []
    for path in paths:
        _add(ends, _places(path))
    for end in ends:
        _fold_starts(end)
    for shallow in (False, True):
        if sum(end.leaves() for end in ends) > rows:
            for end in ends:
                _fold_alike(end, shallow)
    return sorted(ends, key=lambda end: -end.weight)


def _places(path: Path) -> list[Branch]:
    """The places of a path from its end to its start, with the binding that it begins with before its first step."""
    found = [Branch(path.subject, path.start.kind, START, members=[path.subject])]
    first = next(iter(path.grants), ())
    if first and path.steps:
        text = display_name(first[0].binding)
        found.append(Branch(text, kind_of(first[0].binding), ROOT, members=[text]))
    for step in path.steps:
        found[-1].step = f"{step.primitive.id} {step.primitive.title}"
        found.append(Branch(str(step.target), step.target.kind, members=[str(step.target)]))
    return found[::-1]


def _add(ends: list[Branch], places: Sequence[Branch]) -> None:
    level = ends
    for place in places:
        mark = (place.text, place.step, place.role)
        known = next((one for one in level if (one.text, one.step, one.role) == mark), None)
        if known is None:
            known = place
            level.append(known)
        known.weight += 1
        level = known.before


def _fold_starts(branch: Branch) -> None:
    """Make one place of all that start at the same place with the same step."""
    for one in branch.before:
        _fold_starts(one)
    branch.before = _merged(branch.before, lambda one: (one.role, one.step) if one.role == START else (id(one),))


def _fold_alike(branch: Branch, shallow: bool) -> None:
    """Make one place of those of a kind that are reached from like places by like steps.

    ``shallow`` looks at the places and not at what is before them.
    """
    branch.before = _merged(branch.before, lambda one: (one.kind, one.step) if shallow else _signature(one))
    for one in branch.before:
        _fold_alike(one, shallow)
    branch.before.sort(key=lambda one: -one.weight)


def _signature(branch: Branch) -> tuple[object, ...]:
    kind = "" if branch.role == START else branch.kind
    return (branch.role, kind, branch.step, *sorted(map(_signature, branch.before), key=str))


def _merged(branches: Sequence[Branch], key: Callable[[Branch], object]) -> list[Branch]:
    groups: dict[object, list[Branch]] = {}
    for one in branches:
        groups.setdefault(key(one), []).append(one)
    return [_one(some) for some in groups.values()]


def _one(some: Sequence[Branch]) -> Branch:
    """Several places as one, with all that is before them."""
    if len(some) == 1:
        return some[0]
    first = some[0]
    members = list(dict.fromkeys(text for one in some for text in one.members))
    before: dict[tuple[str, str, str], list[Branch]] = {}
    for each in (two for one in some for two in one.before):
        before.setdefault((each.role, each.kind if each.role != START else "", each.step), []).append(each)
    weight = sum(one.weight for one in some)
    merged = [_one(group) for group in before.values()]
    return Branch(first.text, first.kind, first.role, first.step, members, weight, merged)
