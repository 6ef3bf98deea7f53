"""Events are one thing under two names."""

from __future__ import annotations

from hypothesis import given, settings

from simkit.kinds.parts.event import NEWER as NEW_WORDS
from simkit.kinds.parts.event import OLDER as OLD_WORDS
from simkit.kinds.parts.event import renamed
from simkit.kinds.strategy import strategy_of
from simkit.meta.names import GroupKind, GroupVersionKind
from simkit.meta.objects import Draft, Object
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import normalise
from tests.kinds.conversions.generated import objects
from tests.releases import BASE

CATALOGUE = Catalogue.for_release("1.30")
CORE, NEWER = GroupVersionKind("", "v1", "Event"), GroupVersionKind("events.k8s.io", "v1", "Event")
SCHEMAS = {gvk: CATALOGUE.schema(gvk) for gvk in (CORE, NEWER)}


def newer(event: Object) -> Draft:
    """An event of the core group as a server shows it in the newer one."""
    return normalise(BASE, renamed(event, NEW_WORDS), SCHEMAS[NEWER])


def older(event: Object) -> Draft:
    """An event of the newer group as a server keeps it."""
    return normalise(BASE, renamed(event, OLD_WORDS), SCHEMAS[CORE])


@settings(max_examples=100)
@given(objects(SCHEMAS[CORE], "v1", "Event"))
def test_there_and_back_from_the_core_group(event: Draft) -> None:
    """The form of the newer group, written back, is the stored event, and the one that this group would write."""
    stored = normalise(BASE, event, SCHEMAS[CORE])
    shown = newer(stored)
    assert older(shown) == stored
    assert normalise(BASE, shown, SCHEMAS[NEWER]) == shown


@settings(max_examples=100)
@given(objects(SCHEMAS[NEWER], "events.k8s.io/v1", "Event"))
def test_there_and_back_from_the_newer_group(event: Draft) -> None:
    """An event of the newer group is shown there as it was written."""
    sent = normalise(BASE, event, SCHEMAS[NEWER])
    assert newer(older(sent)) == sent
    assert normalise(BASE, older(sent), SCHEMAS[CORE]) == older(sent)


def test_required_fields_of_the_newer_group() -> None:
    """A new event says when, who and what; the fields of old ones are left alone."""
    event = older({"metadata": {"name": "e", "namespace": "n"}, "deprecatedCount": 2, "type": "Odd"})
    rules = strategy_of(GroupKind("events.k8s.io", "Event"))
    found = [
        error.told(BASE) for error in (*rules.validate_first(BASE, event, None), *rules.validate(BASE, event, None))
    ]
    assert found == [
        'involvedObject.namespace: Invalid value: "": does not match event.namespace',
        "eventTime: Required value",
        'type: Invalid value: "": has invalid value: Odd',
        'count: Invalid value: "": needs to be unset',
    ]


def test_an_event_changes_its_series_only() -> None:
    """In the newer group the series may grow; anything else stays."""
    rules = strategy_of(GroupKind("events.k8s.io", "Event"))
    reference = {"namespace": "n", "name": "p", "kind": "Pod"}
    event = older({"metadata": {"name": "e", "namespace": "n"}, "regarding": reference, "note": "m"})
    series = {"count": 2, "lastObservedTime": "2024-01-01T00:00:00.000000Z"}
    assert not list(rules.validate(BASE, {**event, "series": series}, event))
    found = [
        error.told(BASE) for error in rules.validate(BASE, {**event, "message": "other", "series": {"count": 1}}, event)
    ]
    assert found == [
        'series.count: Invalid value: "": should be at least 2',
        "series.lastObservedTime: Required value",
        'message: Invalid value: "other": field is immutable',
    ]


def test_cells() -> None:
    """The cells of time, object and source."""
    event = older(
        {
            "metadata": {"name": "e"},
            "regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "reportingController": "example.com/c",
            "reportingInstance": "i",
            "note": " text ",
            "type": "Normal",
            "reason": "R",
            "eventTime": "1970-01-01T00:00:00.000000Z",
            "series": {"count": 7, "lastObservedTime": "1970-01-01T00:01:00.000000Z"},
        }
    )
    row = strategy_of(GroupKind("", "Event")).print_row
    assert row is not None
    expected = ["60s", "Normal", "R", "pod/p", "spec", "example.com/c, i", "text", "2m", 7, "e"]
    assert row(BASE, event, 120) == expected
