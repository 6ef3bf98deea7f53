"""Rules 11a and 11b of the deprecation policy: metrics, and their visibility after deprecation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from simkit.logic.lifecycle.calendar import Calendar
from simkit.logic.lifecycle.document import History
from simkit.logic.lifecycle.edition import HIDDEN_AFTER, METRIC_END, METRIC_LIFE, Edition
from simkit.logic.lifecycle.findings import Finding
from simkit.logic.lifecycle.stability import Track
from simkit.schema.releases import minor_of

Visibility = Literal["shown", "deprecated", "hidden", "gone"]


def metrics_live_long_enough(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 11a: the period counts from the introduction until the metric is hidden or removed."""
    for metric in history.metrics:
        span, end = METRIC_LIFE.get(Track.named(metric.stability)), metric.hidden or metric.removed
        if end and metric.introduced and span and not calendar.passed(metric.introduced, end, span):
            lasted = calendar.describe(metric.introduced, end)
            text = f"gone {lasted} after its introduction in {metric.introduced}, where {span} are due"
            yield Finding("11a", f"metric {metric.name}", text, earliest=calendar.after(metric.introduced, span))


def deprecated_metrics_stay_long_enough(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 11b: the period counts from the deprecation until the metric is hidden or removed."""
    for metric in history.metrics:
        span, end = METRIC_END.get(Track.named(metric.stability)), metric.hidden or metric.removed
        name = f"metric {metric.name}"
        if not end or span is None:
            continue
        if not metric.deprecated:
            text = f"gone in {end} without being deprecated before"
            yield Finding("11b", name, text, earliest=calendar.after(end, span))
        elif not calendar.passed(metric.deprecated, end, span):
            lasted = calendar.describe(metric.deprecated, end)
            text = f"gone {lasted} after its deprecation in {metric.deprecated}, where {span} are due"
            yield Finding("11b", name, text, earliest=calendar.after(metric.deprecated, span))
        if metric.hidden and metric.removed and calendar.position(metric.removed) <= calendar.position(metric.hidden):
            yield Finding("11b", name, f"removed in {metric.removed} without having been hidden for a release")


def deprecated_metrics_are_told(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 11b: the description names the release of the deprecation, and the registration warns."""
    for metric in history.metrics:
        if not metric.deprecated:
            continue
        if metric.help and not metric.help.startswith(description_of("", metric.deprecated).rstrip()):
            text = f"its description does not start with {description_of('', metric.deprecated).rstrip()!r}"
            yield Finding("11b", f"metric {metric.name}", text)
        if not metric.warns:
            yield Finding("11b", f"metric {metric.name}", "its registration does not warn")


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
