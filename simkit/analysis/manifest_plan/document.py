"""The plan of manifests as a document for programs, and its schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from simkit.analysis.manifest_plan.object_change import ObjectChange
from simkit.analysis.manifest_plan.result import ManifestPlan
from simkit.analysis.manifest_plan.row import PlanRow
from simkit.snapshot.diff import ABSENT


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FieldDocument(_Part):
    """One field that changes; a side that has no such field is left out."""

    path: str
    before: Any = None
    after: Any = None


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
    made = PlanDocument(
        result="ManifestPlan",
        release=plan.release,
        headline=plan.headline,
        objects=[_object(one) for one in plan.objects],
        rows=[_row(row) for row in plan.rows],
        notes=list(plan.notes),
        caveats=[caveat.text for caveat in plan.caveats],
    )
    return made.model_dump(mode="json")


def _object(change: ObjectChange) -> ObjectDocument:
    fields = [FieldDocument(path=one.path, before=_value(one.before), after=_value(one.after)) for one in change.fields]
    return ObjectDocument(
        action=change.action,
        resource=change.resource,
        kind=change.kind,
        namespace=change.namespace,
        name=change.name,
        fields=fields,
        message=change.message,
        warnings=list(change.warnings),
        file=change.file,
        line=change.line,
    )


def _value(value: object) -> object:
    return None if value is ABSENT else value


def _row(row: PlanRow) -> RowDocument:
    return RowDocument(
        section=row.section,
        change=row.change,
        severity=str(row.severity),  # type: ignore[arg-type]
        what=row.what,
        detail=row.detail,
        file=row.file,
        line=row.line,
    )
