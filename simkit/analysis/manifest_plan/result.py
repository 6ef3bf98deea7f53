"""The plan of manifests: what happens to each object, and what follows from it, section by section; also as a document
for programs, with its schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Result
from simkit.meta.domain import LAST_APPLIED
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of, with_metadata
from simkit.meta.visible_text import html_text
from simkit.snapshot.diff import ABSENT, VOLATILE, FieldChange, field_changes
from simkit.snapshot.withhold import is_secret

if TYPE_CHECKING:
    import pandas as pd

Section = Literal[
    "refused",
    "objects",
    "access",
    "paths",
    "expectations",
    "pod security",
    "pods",
    "budgets",
    "versions",
    "warnings",
    "images and secrets",
]
TITLES: Final[dict[Section, str]] = {
    "refused": "Objects that kube-apiserver refuses, or that could not be tried",
    "paths": "Escalation paths",
    "expectations": "Expectations that fail now",
    "access": "Access gained and lost",
    "pod security": "Pods that exceed the pod security level baseline",
    "pods": "Pods that do not run",
    "budgets": "Disruption budgets that allow no eviction",
    "objects": "Objects",
    "versions": "API versions that are removed",
    "warnings": "Warnings of kube-apiserver",
    "images and secrets": "Images and secrets",
}
"""The sections in the order in which a reviewer reads them, with their headings."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One line of a plan.

    Attributes
    ----------
    section
        One of ``TITLES``.
    change
        One word for what happens: ``create``, ``gained``, ``opened``, ``pending`` and the like.
    severity
        How much it deserves a reviewer's attention.
    what
        The object, subject or path.
    detail
        What changes or why, in one sentence.
    file, line
        The manifest that causes it, if one does.
    """

    section: Section
    change: str
    severity: Severity
    what: str
    detail: str = ""
    file: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        """File and line; empty where no manifest causes it."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file


Action = Literal["create", "change", "replace", "delete", "refused", "not tried", "unchanged"]
ACTIONS: Final = ("refused", "not tried", "replace", "delete", "change", "create", "unchanged")
"""What can happen to an object, the worst first."""
HIDDEN: Final = "(hidden)"
"""Shown in place of a value of a Secret."""
_IGNORED: Final = (*VOLATILE, "metadata.creationTimestamp", "metadata.uid", "status")


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object of the manifests, or one that is pruned, and what happens to it.

    Attributes
    ----------
    action
        ``create``, ``change``, ``delete``, ``unchanged``; ``replace``: the change is refused, but deleting and creating
        the object works; ``refused``: kube-apiserver refuses it; ``not tried``: the fork could not tell.
    resource
        The resource with its group, such as ``deployments.apps``.
    fields
        The fields that change. Those that kube-apiserver sets or defaults, and the status, do not count.
    message
        Why it is refused or not tried, in the words of kube-apiserver where they are its own.
    warnings
        The warnings of kube-apiserver.
    file, line
        Where the manifest stands; empty and None for an object that is pruned.
    """

    action: Action
    resource: str
    kind: str
    namespace: str
    name: str
    fields: tuple[FieldChange, ...] = ()
    message: str = ""
    warnings: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None

    @property
    def title(self) -> str:
        """Kind, namespace and name: ``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def place(self) -> str:
        """File and line; empty for an object that is in no manifest."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file


def fields_changed(before: Object, after: Object) -> tuple[FieldChange, ...]:
    """The fields of an object that a write changed, values of Secrets hidden.

    A Secret of a dump has no values; then its keys alone are compared.
    """
    if is_secret(before) or is_secret(after):
        return tuple(_of_secret(before, after))
    return tuple(field_changes(_comparable(before), _comparable(after), ignore=_IGNORED))


def _comparable(obj: Object) -> Object:
    """The object without the annotation in which kubectl keeps what was applied, and without empty annotations."""
    annotations = dict(metadata(obj).get("annotations") or {})
    annotations.pop(LAST_APPLIED, None)
    kept = with_metadata(obj, annotations=annotations)
    if annotations:
        return kept
    return {**kept, "metadata": {name: value for name, value in metadata(kept).items() if name != "annotations"}}


def _of_secret(before: Object, after: Object) -> list[FieldChange]:
    withheld = all(value == "" for value in (before.get("data") or {}).values())
    changes = []
    for change in field_changes(_comparable(before), _comparable(after), ignore=_IGNORED):
        if not change.path.startswith("data"):
            changes.append(change)
        elif not withheld or ABSENT in (change.before, change.after) or change.path == "data":
            changes.append(FieldChange(change.path, _hidden(change.before), _hidden(change.after)))
    return changes


def _hidden(value: object) -> object:
    return value if value is ABSENT else HIDDEN


def values_withheld(obj: Object) -> bool:
    """True for a Secret whose values a dump left out."""
    values = (at(obj, "data") or {}).values()
    return is_secret(obj) and bool(values) and not any(values)


def changed(action: Action, resource: str, obj: Object, *, namespace: str = "", message: str = "") -> ObjectChange:
    """The change of an object without fields and place."""
    where = namespace or namespace_of(obj)
    return ObjectChange(action, resource, str(obj.get("kind") or ""), where, name_of(obj), message=message)


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
        return table([(title, len(rows)) for title, rows in self.sections()], ("what", "count"))

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


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _value(value: Any) -> Any:
    """The value of a field for JSON."""
    return None if value is ABSENT else value


Value = Annotated[Any, BeforeValidator(_value)]


class FieldDocument(_Part):
    """One field that changes; a side that has no such field is left out."""

    path: str
    before: Value = None
    after: Value = None


class ObjectDocument(_Part):
    """What happens to one object."""

    action: Literal["create", "change", "replace", "delete", "refused", "not tried", "unchanged"]
    resource: str
    kind: str
    namespace: str
    name: str
    fields: list[FieldDocument]
    message: str
    warnings: list[str]
    file: str
    line: int | None


class RowDocument(_Part):
    """One line of a section."""

    section: str
    change: str
    severity: Literal["info", "low", "medium", "high", "critical"]
    what: str
    detail: str
    file: str
    line: int | None


class PlanDocument(_Part):
    """What applying manifests does to a cluster."""

    result: Literal["ManifestPlan"]
    release: str
    headline: str
    objects: list[ObjectDocument]
    rows: list[RowDocument]
    notes: list[str]
    caveats: list[str]


def document_of(plan: ManifestPlan) -> dict[str, Any]:
    """The plan as a mapping that ``PlanDocument.model_json_schema()`` describes."""
    parts = {name: getattr(plan, name) for name in ("release", "headline", "objects", "rows", "notes")}
    caveats = [caveat.text for caveat in plan.caveats]
    return PlanDocument.model_validate({"result": "ManifestPlan", **parts, "caveats": caveats}).model_dump(mode="json")
