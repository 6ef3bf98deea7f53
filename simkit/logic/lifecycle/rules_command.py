"""Rules 5 to 8 of the deprecation policy: command lines, behaviours and features."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.logic.lifecycle.calendar import Calendar, Span, add_months
from simkit.logic.lifecycle.document import History
from simkit.logic.lifecycle.edition import COMMANDS, Edition
from simkit.logic.lifecycle.findings import Finding, Weight
from simkit.logic.lifecycle.stability import Track

_YEAR = 12


def flags_work_long_enough(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rules 5a and 5b: deprecated flags work for a period, longer for users than for administrators."""
    for flag in history.flags:
        span = COMMANDS.get((flag.audience, Track.named(flag.stability)))
        if not flag.removed or span is None:
            continue
        rule, name = "5a" if flag.audience == "user" else "5b", f"flag {flag.name}"
        if not flag.deprecated:
            text = f"removed in {flag.removed} without being deprecated before"
            yield Finding(rule, name, text, earliest=calendar.after(flag.removed, span))
        elif not calendar.passed(flag.deprecated, flag.removed, span):
            lasted = calendar.describe(flag.deprecated, flag.removed)
            text = f"removed {lasted} after its deprecation in {flag.deprecated}, where {span} are due"
            yield Finding(rule, name, text, earliest=calendar.after(flag.deprecated, span))


def flags_have_stable_replacements(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 5c: flags are not deprecated in favour of something less stable."""
    weight: Weight = "breach" if edition.replaced_as_stable else "notice"
    for flag in history.flags:
        instead = flag.replacement
        if flag.deprecated and instead and Track.named(instead.stability) < Track.named(flag.stability):
            text = f"deprecated in {flag.deprecated} in favour of {instead.name}, which is {instead.stability}"
            yield Finding("5c", f"flag {flag.name}", text, weight)


def flags_warn(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 6: each use of a deprecated element warns."""
    for flag in history.flags:
        if flag.deprecated and not flag.warns:
            yield Finding("6", f"flag {flag.name}", f"deprecated in {flag.deprecated}, and its use does not warn")


def behaviors_work_for_a_year(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 7: a significant behaviour works for a year after its deprecation, in any number of releases."""
    for behavior in history.behaviors:
        if not behavior.removed or not behavior.significant:
            continue
        name = f"behaviour {behavior.name}"
        if not behavior.deprecated:
            text = f"removed in {behavior.removed} without an announcement"
            yield Finding("7", name, text, earliest=calendar.after(behavior.removed, Span(0, _YEAR)))
            continue
        announced = calendar.release(behavior.deprecated).day
        if calendar.release(behavior.removed).day < add_months(announced, _YEAR):
            lasted = calendar.describe(behavior.deprecated, behavior.removed)
            text = f"removed {lasted} after the announcement in {behavior.deprecated}, where a year is due"
            yield Finding("7", name, text, earliest=calendar.after(behavior.deprecated, Span(0, _YEAR)))


def features_have_stable_replacements(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 8: features are not deprecated in favour of something less stable of ours; others need a transition."""
    weight: Weight = "breach" if edition.replaced_as_stable else "notice"
    for behavior in history.behaviors:
        instead, name = behavior.replacement, f"behaviour {behavior.name}"
        if not behavior.deprecated or instead is None:
            continue
        if instead.ours and Track.named(instead.stability) < Track.named(behavior.stability):
            text = f"deprecated in {behavior.deprecated} in favour of {instead.name}, which is {instead.stability}"
            yield Finding("8", name, text, weight)
        elif not instead.ours and not instead.transition:
            text = f"deprecated in favour of {instead.name} of others, with no way there described"
            yield Finding("8", name, text, weight)
