"""Rules about what versions are made of, and about flags, features, gates and metrics: 1, 2 and 5 to 11b."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from simkit.logic.lifecycle.calendar import Calendar, Track, track_of
from simkit.logic.lifecycle.document import Behavior, Element, Flag, Gate, Group, History, Stage, Version
from simkit.logic.lifecycle.findings import (
    BEHAVIOR,
    COMMANDS,
    GATE_TO_END,
    GATE_TO_STABLE,
    HIDDEN_AFTER,
    METRIC_END,
    METRIC_LIFE,
    Edition,
    Finding,
    ended_early,
)
from simkit.schema.releases import minor_of

Visibility = Literal["shown", "deprecated", "hidden", "gone"]


def nothing_goes_within_a_version(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 1: an element is removed only by a new version, and never changed significantly within one."""
    groups = {group.name: group for group in history.groups}
    for element in history.elements:
        if track_of(element.version) is Track.ALPHA or _is_alpha_annotation(element):
            continue
        version = f"{element.group}/{element.version}" if element.group else element.version
        name = f"{element.sort} {element.name} of {version}"
        if element.removed and not _version_went(groups, element, calendar):
            yield Finding("1", name, f"removed in {element.removed} while its version is still served")
        for change in element.changes:
            if change.narrows:
                yield Finding("1", name, f"changed in {change.release}: {change.what}")


def _is_alpha_annotation(element: Element) -> bool:
    return element.sort == "annotation" and "alpha" in element.name.partition("/")[0].split(".")


def _version_went(groups: Mapping[str, Group], element: Element, calendar: Calendar) -> bool:
    """True if the element was removed with its version or later."""
    versions = groups[element.group].versions if element.group in groups else ()
    ends = [version.removed for version in _about(versions, element)]
    return bool(ends) and all(end and calendar.position(end) <= calendar.position(element.removed) for end in ends)


def _about(versions: Sequence[Version], element: Element) -> list[Version]:
    """The versions of an element: those of its kind, if its name begins with one."""
    named = [version for version in versions if version.name == element.version]
    kind = element.name.partition(".")[0]
    of_kind = [version for version in named if kind in version.kinds]
    return of_kind or named


def numbers_are_not_reused(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """The binary side of rule 1: a number means one field forever."""
    owners: dict[tuple[str, int], str] = {}
    for field in sorted(
        history.protobuf, key=lambda each: calendar.position(each.introduced) if each.introduced else 0
    ):
        owner = owners.setdefault((field.message, field.number), field.name)
        if owner != field.name:
            text = f"number {field.number} belonged to {owner}"
            yield Finding("1", f"protobuf field {field.message}.{field.name}", text)


def round_trips(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 2: objects are converted to other versions of a release and back without loss."""
    for trip in history.round_trips:
        if trip.lost:
            there, back = trip.between
            what = ", ".join(trip.lost)
            yield Finding("2", f"{trip.kind} {there} through {back}", f"loses {what} in release {trip.release}")


# Command lines, behaviours and features


def flags(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rules 5a, 5b, 5c and 6: deprecated flags work for a period, warn, and have a replacement as stable."""
    for flag in history.flags:
        name, span = f"flag {flag.name}", COMMANDS.get((flag.audience, Track.named(flag.stability)))
        if flag.removed and span is not None:
            rule = "5a" if flag.audience == "user" else "5b"
            yield from ended_early(rule, name, flag.deprecated, flag.removed, span, calendar)
    for flag in history.flags:
        yield from _less_stable("5c", f"flag {flag.name}", flag, edition)
    for flag in history.flags:
        if flag.deprecated and not flag.warns:
            yield Finding("6", f"flag {flag.name}", f"deprecated in {flag.deprecated}, and its use does not warn")


def behaviors(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rules 7 and 8: a significant behaviour works for a year after its deprecation, and has a replacement as stable;
    of others' replacements the transition is described."""
    for behavior in history.behaviors:
        if behavior.removed and behavior.significant:
            name = f"behaviour {behavior.name}"
            yield from ended_early("7", name, behavior.deprecated, behavior.removed, BEHAVIOR, calendar)
    for behavior in history.behaviors:
        instead, name = behavior.replacement, f"behaviour {behavior.name}"
        if behavior.deprecated and instead is not None and not instead.ours and not instead.transition:
            text = f"deprecated in favour of {instead.name} of others, with no way there described"
            yield Finding("8", name, text, edition.weight)
        elif instead is not None and instead.ours:
            yield from _less_stable("8", name, behavior, edition)


def _less_stable(rule: str, name: str, element: Flag | Behavior, edition: Edition) -> Iterator[Finding]:
    instead = element.replacement
    if element.deprecated and instead and Track.named(instead.stability) < Track.named(element.stability):
        text = f"deprecated in {element.deprecated} in favour of {instead.name}, which is {instead.stability}"
        yield Finding(rule, name, text, edition.weight)


# Feature gates


def gates_work_long_enough(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 9: a gate is accepted for a period after its feature became stable or was abandoned."""
    for gate in history.gates:
        end, was_beta = _first(gate, "ga", "deprecated"), _first(gate, "beta") is not None
        if gate.removed and (was_beta or (end is not None and end.stage == "ga")):
            span = GATE_TO_STABLE if end is not None and end.stage == "ga" else GATE_TO_END
            start, since = (end.release, f"its feature became {end.stage}") if end is not None else ("", "")
            yield from ended_early("9", f"feature gate {gate.name}", start, gate.removed, span, calendar, since=since)


def _first(gate: Gate, *stages: str) -> Stage | None:
    return next((each for each in gate.stages if each.stage in stages), None)


def gates_have_the_right_states(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 9: alpha gates are off; beta gates on and free; stable gates on, without effect, and cannot be switched
    off."""
    wanted = {"alpha": (False, False), "beta": (True, False), "ga": (True, True)}
    for gate in history.gates:
        for stage in gate.stages:
            default, locked = wanted.get(stage.stage, (stage.default, stage.locked))
            name = f"feature gate {gate.name}"
            if stage.default != default:
                text = f"{'on' if stage.default else 'off'} by default as {stage.stage} in {stage.release}"
                yield Finding("9", name, text, "notice" if stage.stage == "beta" else "breach")
            if stage.locked and not locked:
                yield Finding("9", name, f"cannot be changed as {stage.stage} in {stage.release}")
            if locked and not stage.locked:
                yield Finding("9", name, f"can still be switched off as {stage.stage} in {stage.release}", "notice")


def deprecated_gates_are_told(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 10: use of a deprecated gate warns, and release notes and help document it and its remaining effect."""
    for gate in history.gates:
        if _first(gate, "ga", "deprecated") is None:
            continue
        said = {"its use does not warn": gate.warns, "no release note": gate.release_note, "no help": gate.help}
        missing = [text for text, there in said.items() if not there]
        if missing:
            yield Finding("10", f"feature gate {gate.name}", "deprecated, but: " + ", ".join(missing))


# Metrics


def metrics(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rules 11a and 11b: a metric is shown for a period after its introduction, and for one after its deprecation,
    which its description and a warning tell."""
    for metric in history.metrics:
        span, end = METRIC_LIFE.get(Track.named(metric.stability)), metric.hidden or metric.removed
        if end and metric.introduced and span:
            name, since = f"metric {metric.name}", "its introduction"
            yield from ended_early("11a", name, metric.introduced, end, span, calendar, since=since, ended="gone")
    for metric in history.metrics:
        span, end = METRIC_END.get(Track.named(metric.stability)), metric.hidden or metric.removed
        name = f"metric {metric.name}"
        if end and span:
            yield from ended_early("11b", name, metric.deprecated, end, span, calendar, ended="gone")
            hidden, removed = metric.hidden, metric.removed
            if hidden and removed and calendar.position(removed) <= calendar.position(hidden):
                yield Finding("11b", name, f"removed in {removed} without having been hidden for a release")
    for metric in history.metrics:
        name, told = f"metric {metric.name}", description_of("", metric.deprecated).rstrip()
        if metric.deprecated and metric.help and not metric.help.startswith(told):
            yield Finding("11b", name, f"its description does not start with {told!r}")
        if metric.deprecated and not metric.warns:
            yield Finding("11b", name, "its registration does not warn")


def description_of(text: str, deprecated: str) -> str:
    """The description of a metric that is deprecated since a release.

    Examples
    --------
    >>> description_of("Requests so far.", "1.28")
    '(Deprecated from 1.28) Requests so far.'
    """
    return f"(Deprecated from {deprecated}) {text}"


def visibility(deprecated: str, current: str, *, show_hidden_for: str = "") -> Visibility:
    """The visibility of a metric on a server of a release, for the release of its deprecation.

    ``show_hidden_for`` is the value of ``--show-hidden-metrics-for-version``: only the release before the current one
    can be asked for.

    Examples
    --------
    >>> [visibility("1.27", release) for release in ("1.26", "1.29", "1.30", "1.31")]
    ['shown', 'deprecated', 'hidden', 'gone']
    >>> visibility("1.27", "1.30", show_hidden_for="1.29")
    'deprecated'
    """
    age = minor_of(current) - minor_of(deprecated) if deprecated else -1
    if age < 0:
        return "shown"
    if age < HIDDEN_AFTER:
        return "deprecated"
    if age > HIDDEN_AFTER:
        return "gone"
    return "deprecated" if show_hidden_for and minor_of(show_hidden_for) == minor_of(current) - 1 else "hidden"
