"""The urgent notes of changelogs are accounted for, and new ones are found."""

from __future__ import annotations

import pytest

from simkit.analysis.upgrade.behaviour import behaviour_entries
from simkit.analysis.upgrade.removed_resources import CHECK
from simkit.schema.releases import RELEASES
from tools.upgrade_notes import missing, notes, urgent

CHANGELOG = """\
# v1.37.0

## Urgent Upgrade Notes

### (No, really, you MUST read this before you upgrade)

- The old one is known. ([#117119](https://github.com/kubernetes/kubernetes/pull/117119), [@a](https://github.com/a))
- A new one
  takes two lines. ([#900001](https://github.com/kubernetes/kubernetes/pull/900001), [@a](https://github.com/a))

## Changes by Kind

### API Change

- Action required: one among the others. ([#900002](https://github.com/kubernetes/kubernetes/pull/900002), [@a](x))
- Not urgent. ([#900003](https://github.com/kubernetes/kubernetes/pull/900003), [@a](https://github.com/a))
"""


def test_new_notes_are_found() -> None:
    """Those below the heading and those that require action, but for the known ones of the same release."""
    assert list(missing("1.37", CHANGELOG)) == [900001, 900002]
    assert [pull for pull, _ in urgent(CHANGELOG)] == [117119, 900001, 900002]
    assert 117119 in missing("1.36", CHANGELOG)


@pytest.mark.parametrize("release", notes())
def test_each_note_has_a_row_or_a_reason(release: str) -> None:
    """One of both; a row is in the table of changed behaviour, or the check of API versions."""
    assert release in RELEASES
    rows = {CHECK, *(entry.id for entry in behaviour_entries())}
    for note in notes()[release]:
        assert ("row" in note) != ("because" in note), note
        assert note.get("row", CHECK) in rows, note


def test_no_note_stands_twice() -> None:
    """One line for each pull request."""
    pulls = [note["pull"] for listed in notes().values() for note in listed]
    assert len(pulls) == len(set(pulls))
