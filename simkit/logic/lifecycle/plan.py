"""The earliest schedule that the policy allows for a group that gets a new version or retires old ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simkit.logic.lifecycle.calendar import Calendar, Release, Track, age_order, track_of
from simkit.logic.lifecycle.document import Group, History, Version
from simkit.logic.lifecycle.findings import BETA
from simkit.meta.errors import SimkitError


class Step(NamedTuple):
    """One action in a release."""

    release: Release
    action: str
    """The action: introduce, deprecate, prefer and store, remove, keep."""
    element: str
    rule: str
    """The rule that forbids it earlier, or at all."""

    def __str__(self) -> str:
        return f"{self.release}: {self.action} {self.element} (rule {self.rule})"


class Plan(NamedTuple):
    """A schedule, and the history after it."""

    steps: tuple[Step, ...]
    history: History

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def plan(history: History, group: str, target: str, *, start: str = "") -> Plan:
    """The earliest compliant schedule that ends with ``target`` as the only version besides stable ones.

    Parameters
    ----------
    group, target
        The group, and the version to arrive at; it need not be there yet.
    start
        The first release in which something may be done; by default the one after the last known release.

    Raises
    ------
    SimkitError
        For a group that the history does not have, and for a target that is less stable than what it would replace, or
        older than what is stored.

    Notes
    -----
    A plan that is kept passes ``check``. Versions of another major number stay as they are.

    Examples
    --------
    >>> from simkit.logic.lifecycle.reading import read_history
    >>> history = read_history('''
    ... groups:
    ... - name: shop.example.com
    ...   versions: [{name: v1beta1, introduced: "1.35"}]
    ...   preferred: {"1.35": v1beta1}
    ...   storage: {"1.35": v1beta1}
    ... ''')
    >>> for step in plan(history, "shop.example.com", "v1", start="1.36").steps:
    ...     print(step.release.name, step.action, step.element)
    1.36 introduce v1
    1.36 deprecate v1beta1
    1.37 prefer and store v1
    1.39 remove v1beta1
    """
    calendar = history.calendar
    found = next((each for each in history.groups if each.name == group), None)
    if found is None:
        known = ", ".join(each.name or "(core)" for each in history.groups)
        raise SimkitError(f"the history has no group {group!r}; it has {known}")
    first = calendar.position(start) if start else len(calendar.releases)
    steps = tuple(sorted(_steps(found, target, first, calendar), key=lambda step: step.release.day))
    changed = _kept(found, target, steps)
    groups = tuple(changed if each.name == group else each for each in history.groups)
    return Plan(steps, history.model_copy(update={"groups": groups}))


def _steps(group: Group, target: str, first: int, calendar: Calendar) -> Iterator[Step]:
    there = [version for version in group.versions if version.name == target and not version.removed]
    ready = max(first, calendar.position(there[0].introduced)) if there and there[0].introduced else first
    if not there:
        yield Step(calendar.at(first), "introduce", target, "1")
    served_since = calendar.position(there[0].introduced) if there and there[0].introduced else ready
    moves = max(first, served_since + 1)
    current = _current(group, calendar)
    if current and age_order(target) < age_order(current):
        raise SimkitError(f"{target} is older than {current}, which the group stores already: plan for a newer one")
    if current != target:
        yield Step(calendar.at(moves), "prefer and store", target, "4b")
    for version in group.versions:
        if version.name != target and not version.removed and age_order(version.name) < age_order(target):
            yield from _retire(version, target, ready, moves, calendar)


def _current(group: Group, calendar: Calendar) -> str:
    moves = sorted(group.storage.items(), key=lambda move: calendar.position(move[0]))
    return moves[-1][1] if moves else ""


def _retire(version: Version, target: str, ready: int, moves: int, calendar: Calendar) -> Iterator[Step]:
    if track_of(target) < version.track:
        raise SimkitError(f"{version.name} may not give way to {target}, which is less stable (rule 3)")
    deprecated = calendar.position(version.deprecated) if version.deprecated else ready
    if not version.deprecated:
        yield Step(calendar.at(ready), "deprecate", version.name, "3")
    if version.track is Track.GA:
        yield Step(calendar.at(ready), "keep", version.name, "4a")
        return
    due = moves
    if version.track is Track.BETA:
        due = max(calendar.position(calendar.after(calendar.at(deprecated).name, BETA).name), moves + 1)
    yield Step(calendar.at(due), "remove", version.name, "4a")


def _kept(group: Group, target: str, steps: tuple[Step, ...]) -> Group:
    """The group after the steps."""
    versions = {version.name: version for version in group.versions}
    preferred, storage = dict(group.preferred), dict(group.storage)
    for step in steps:
        name, release = step.element, step.release.name
        if step.action == "introduce":
            versions[name] = Version(name=name, introduced=release)
        elif step.action == "deprecate":
            update = {"deprecated": release, "replacement": target}
            versions[name] = versions[name].model_copy(update=update)
        elif step.action == "remove":
            versions[name] = versions[name].model_copy(update={"removed": release})
        elif step.action == "prefer and store":
            preferred[release] = storage[release] = name
    return group.model_copy(update={"versions": tuple(versions.values()), "preferred": preferred, "storage": storage})
