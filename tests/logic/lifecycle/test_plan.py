"""Plans: what they schedule complies, and nothing could be earlier."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.logic.lifecycle import Calendar, History, Release, check, plan
from simkit.logic.lifecycle.calendar import add_months
from simkit.logic.lifecycle.document import DatedRelease, Group, Version
from simkit.meta.errors import SimkitError

RELEASES = tuple(DatedRelease(name=f"r{n}", date=add_months(date(2024, 1, 15), 4 * n)) for n in range(4))


def history(*names: str) -> History:
    """A group with versions that came one release after the other, the last one preferred and stored."""
    versions = tuple(Version(name=name, introduced=f"r{place}") for place, name in enumerate(names))
    moves = {f"r{len(names) - 1}": names[-1]}
    group = Group(name="g", versions=versions, preferred=moves, storage=moves)
    return History(releases=RELEASES, groups=(group,))


@settings(max_examples=40)
@given(st.sampled_from([("v1alpha1",), ("v1beta1",), ("v1alpha1", "v1beta1"), ("v1beta1", "v1beta2"), ("v1",)]))
def test_a_plan_that_is_kept_breaks_nothing(names: tuple[str, ...]) -> None:
    """Whatever is retired in favour of a stable version, the policy agrees."""
    target = "v2" if names == ("v1",) else "v1"
    before = {each.element for each in check(history(*names))}
    kept = plan(history(*names), "g", target, start="r3").history
    assert {each.element for each in check(kept)} <= before


def hurried(history: History, version: str, days: Mapping[str, str]) -> History:
    """The history with another life of a version, or with other days of the moves when there is no version."""
    group = history.groups[0]
    if not version:
        return history.model_copy(update={"groups": (group.model_copy(update={"preferred": days, "storage": days}),)})
    versions = tuple(each.model_copy(update=dict(days)) if each.name == version else each for each in group.versions)
    return history.model_copy(update={"groups": (group.model_copy(update={"versions": versions}),)})


@settings(max_examples=60)
@given(
    names=st.sampled_from([("v1beta1",), ("v1alpha1", "v1beta1"), ("v1beta1", "v1beta2")]),
    start=st.sampled_from(["r2", "r3", ""]),
    months=st.integers(1, 7),
)
def test_no_step_of_a_plan_could_be_earlier(names: tuple[str, ...], start: str, months: int) -> None:
    """At any pace of releases, a beta that goes, or a move to the target, one release earlier breaks rule 4."""
    first = history(*names)
    paced = tuple(DatedRelease(name=f"r{n}", date=add_months(date(2024, 1, 15), months * n)) for n in range(4))
    made = plan(first.model_copy(update={"releases": paced}), "g", "v1", start=start)
    calendar, before = made.history.calendar, {str(each) for each in check(made.history)}
    for step in made.steps:
        earlier = calendar.at(calendar.position(step.release.name) - 1).name
        if step.action == "remove" and "beta" in step.element:
            changed = hurried(made.history, step.element, {"removed": earlier})
        elif step.action == "prefer and store":
            kept = {at: name for at, name in made.history.groups[0].storage.items() if name != "v1"}
            changed = hurried(made.history, "", {**kept, earlier: "v1"})
        else:
            continue
        found = [each for each in check(changed) if str(each) not in before]
        assert {each.rule for each in found} & {"4a", "4b"}, (str(made), step)


def test_stable_versions_are_kept() -> None:
    """A stable version is deprecated and stays."""
    made = plan(history("v1"), "g", "v2", start="r1")
    assert [(step.action, step.element) for step in made.steps if step.element == "v1"] == [
        ("deprecate", "v1"),
        ("keep", "v1"),
    ]


def test_a_less_stable_target_is_refused() -> None:
    """Rule 3 is told of before anything is planned."""
    with pytest.raises(SimkitError, match="rule 3"):
        plan(history("v1"), "g", "v2alpha1", start="r1")


def test_a_target_that_is_behind_is_refused() -> None:
    """A stable version cannot become one of its betas."""
    with pytest.raises(SimkitError, match="v1beta1 is older than v1"):
        plan(history("v1"), "g", "v1beta1", start="r1")


def test_calendars_go_on_after_the_last_release() -> None:
    """Names are counted up, days follow the pace, and both parts of a span count."""
    calendar = Calendar([Release("1.8", date(2024, 1, 31)), Release("1.9", date(2024, 5, 31))], cadence=3)
    assert calendar.release("1.11") == Release("1.11", date(2024, 11, 30), True)
    with pytest.raises(SimkitError, match="no release 'soon'"):
        calendar.position("soon")
    with pytest.raises(SimkitError, match="must come in order"):
        Calendar([Release("b", date(2024, 2, 1)), Release("a", date(2024, 1, 1))])
