"""Objects that servers of the first release take and those of the last one refuse, found by trying each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from simkit.analysis.upgrade.breaks import Break, break_of
from simkit.analysis.upgrade.items import Item
from simkit.analysis.upgrade.migration import refusal
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.analysis.upgrade.unknown_fields import SOURCE
from simkit.schema.lifecycle import is_served
from simkit.seams.snapshot import Sandbox

VALIDATION: Final = "validation"
REFUSED: Final = "refused-already"
_LONGEST: Final = 400


def validation_breaks(items: Iterable[Item], sandbox: Sandbox, span: ReleaseSpan) -> Iterator[Break]:
    """Create each item as a trial on a fork at the last release, and where it is refused at the first one too.

    Notes
    -----
    About a millisecond for a small object; much more for a custom resource definition with many rules.
    """
    last = sandbox.fork(release=span.end)
    first = sandbox.fork(release=span.start) if span.start else None
    for item in items:
        if not item.name or not is_served(item.api_version, item.kind, span.end):
            continue
        said = refusal(item.obj, last, span.end)
        if not said:
            continue
        known = first is not None and is_served(item.api_version, item.kind, span.start)
        before = refusal(item.obj, first, span.start) if known and first is not None else ""
        if known and not before:
            yield _row(item, span, said)
        elif item.origin != "stored":
            yield break_of(
                item, release="", severity="low", check=REFUSED, what=f"{span.end} refuses it: {said[:_LONGEST]}",
                evidence=f"{span.start} refuses it too" if before else f"tried at {span.end}",
                remedy="Correct the manifest.", source=SOURCE, breaks=False,
            )  # fmt: skip


def _row(item: Item, span: ReleaseSpan, said: str) -> Break:
    return break_of(
        item, release=span.end, severity="high", check=VALIDATION, what=f"{span.end} refuses it: {said[:_LONGEST]}",
        evidence=f"tried on forks: {span.start} takes it, {span.end} does not",
        remedy="Correct what the message names, before the upgrade.", source=SOURCE,
    )  # fmt: skip
