"""One thing that an upgrade breaks, or that is worth knowing before it."""

from __future__ import annotations

from typing import NamedTuple

from simkit.analysis.upgrade.items import Item


class Break(NamedTuple):
    """A row of an upgrade report.

    ``release`` is the first one that has the change, ``breaks`` False for what goes on working or fails already.
    ``where`` is the object with the field, and of what is not stored by itself the release of the chart or the file.
    ``who`` is the caller, the field manager, or those who have a role; ``evidence`` says how it is known.
    """

    release: str
    severity: str
    breaks: bool
    check: str
    what: str
    where: str
    who: str
    evidence: str
    remedy: str
    source: str
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    field: str = ""
    file: str = ""
    line: int | None = None


def break_of(
    item: Item,
    *,
    release: str,
    severity: str,
    check: str,
    what: str,
    evidence: str,
    remedy: str,
    source: str,
    breaks: bool = True,
    field: str = "",
    who: str = "",
    api_version: str = "",
) -> Break:
    """The row of something that concerns an item."""
    where = f"{item.title} {field}".strip() or item.place
    if item.release:
        name, _, namespace = item.helm_release.partition(" ")
        remedy = f"{remedy} Then upgrade to a chart that has it so: helm upgrade {name} CHART {namespace}."
    if item.release or (item.place and not item.name):
        where = f"{where} ({item.place})"
    return Break(
        release,
        severity,
        breaks,
        check,
        what,
        where,
        who,
        evidence,
        remedy,
        source,
        api_version or item.api_version,
        item.kind,
        item.namespace,
        item.name,
        field,
        item.file,
        item.line,
    )
