"""The plan of manifests: what applying them does, section by section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from simkit.analysis.manifest_plan.object_change import ACTIONS, ObjectChange
from simkit.analysis.manifest_plan.row import TITLES, PlanRow, Section
from simkit.analysis.rbac.tables import table
from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.rendering import counted
from simkit.analysis.result import Result
from simkit.meta.visible_text import html_text

COLUMNS = ("section", "change", "severity", "what", "detail", "file", "line")
_VERBS = {
    "create": "to create",
    "change": "to change",
    "replace": "to replace",
    "delete": "to delete",
    "refused": "refused",
    "not tried": "not tried",
}


@dataclass(frozen=True)
class ManifestPlan(Result):
    """What applying manifests does to a cluster. It is true if anything changes or is refused.

    Attributes
    ----------
    release
        The release of the cluster.
    objects
        What happens to each object, unchanged ones included.
    rows
        The lines of all sections, in the order of the sections, the most severe first.
    notes
        What the plan could not judge, and what differs at each run.
    """

    release: str
    objects: tuple[ObjectChange, ...]
    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def refused(self) -> tuple[ObjectChange, ...]:
        """The objects that kube-apiserver refuses or that could not be tried."""
        return tuple(one for one in self.objects if one.action in ("refused", "not tried"))

    def sections(self) -> Iterator[tuple[str, tuple[PlanRow, ...]]]:
        """The headings with their lines; empty sections are left out."""
        for section, title in TITLES.items():
            found = self.of(section)
            if found:
                yield title, found

    def of(self, section: Section) -> tuple[PlanRow, ...]:
        """The lines of one section."""
        return tuple(row for row in self.rows if row.section == section)

    @property
    def headline(self) -> str:
        """The numbers of objects in one line: ``Plan: 2 to create, 1 to change``."""
        counts = Counter(one.action for one in self.objects)
        told = [f"{counts[action]:,} {_VERBS[action]}" for action in reversed(ACTIONS[:-1]) if counts[action]]
        if not told:
            return f"Plan: nothing changes ({counted(counts['unchanged'], 'object')} compared)"
        return f"Plan: {', '.join(told)}"

    def to_frame(self) -> pd.DataFrame:
        """One row per line: section, change, severity, what, detail, file, line."""
        rows = [
            (row.section, row.change, str(row.severity), row.what, row.detail, row.file, row.line) for row in self.rows
        ]
        return table(rows, COLUMNS)

    def summary(self) -> pd.DataFrame:
        """The number of lines of each section: what, count."""
        counts = Counter(row.section for row in self.rows)
        found = [(TITLES[section], counts[section]) for section in TITLES if counts[section]]
        return ReadableFrame({"what": [what for what, _ in found], "count": [count for _, count in found]})

    def lines(self) -> Iterator[str]:
        """The plan as text: the headline, then each section."""
        yield self.headline
        for title, rows in self.sections():
            yield ""
            yield title
            for row in rows:
                place = f"  ({row.place})" if row.place else ""
                yield f"  {row.change}: {row.what}{place}"
                yield from (f"      {line}" for line in row.detail.split("\n") if line)
        if self.notes:
            yield ""
            yield "Notes"
            yield from (f"  {note}" for note in self.notes)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html_text(self.headline)}</b></p>"]
        for title, rows in self.sections():
            body = "".join(_html_row(row) for row in rows)
            head = f"<summary>{html_text(title)} ({len(rows)})</summary>"
            parts.append(f"<details open>{head}<table>{body}</table></details>")
        if self.notes:
            told = "".join(f"<li>{html_text(note)}</li>" for note in self.notes)
            parts.append(f"<p>Notes</p><ul>{told}</ul>")
        return "".join(parts)


def _html_row(row: PlanRow) -> str:
    detail = "<br>".join(html_text(line) for line in row.detail.split("\n"))
    cells = (html_text(row.change), html_text(row.what), detail, html_text(row.place))
    shown = "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells)
    return f"<tr>{shown}</tr>"
