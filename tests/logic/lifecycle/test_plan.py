"""Plans: what they schedule complies, and nothing could be earlier."""

from __future__ import annotations

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


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([("v1alpha1",), ("v1beta1",), ("v1alpha1", "v1beta1"), ("v1beta1", "v1beta2"), ("v1",)]))
def test_a_plan_that_is_kept_breaks_nothing(names: tuple[str, ...]) -> None:
    """Whatever is retired in favour of a stable version, the policy agrees."""
    target = "v2" if names == ("v1",) else "v1"
    before = {each.element for each in check(history(*names))}
    kept = plan(history(*names), "g", target, start="r3").history
    assert {each.element for each in check(kept)} <= before


def test_removing_a_beta_one_release_earlier_breaks_the_policy() -> None:
    """The plan's removal is the earliest one."""
    made = plan(history("v1beta1"), "g", "v1", start="r1")
    removal = next(step for step in made.steps if step.action == "remove")
    group = made.history.groups[0]
    calendar = made.history.calendar
    earlier = calendar.at(calendar.place(removal.release.name) - 1).name
    versions = tuple(
        each.model_copy(update={"removed": earlier}) if each.name == "v1beta1" else each for each in group.versions
    )
    hurried = made.history.model_copy(update={"groups": (group.model_copy(update={"versions": versions}),)})
    assert [each.rule for each in check(hurried)] == ["4a"]


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


def test_calendars_go_on_after_the_last_release() -> None:
    """Names are counted up, days follow the pace, and both parts of a span count."""
    calendar = Calendar([Release("1.8", date(2024, 1, 31)), Release("1.9", date(2024, 5, 31))], cadence=3)
    assert calendar.release("1.11") == Release("1.11", date(2024, 11, 30), True)
    with pytest.raises(SimkitError, match="no release 'soon'"):
        calendar.place("soon")
    with pytest.raises(SimkitError, match="must come in order"):
        Calendar([Release("b", date(2024, 2, 1)), Release("a", date(2024, 1, 1))])
