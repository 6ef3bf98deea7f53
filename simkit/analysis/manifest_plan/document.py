"""The plan of manifests as a document for programs, and its schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from simkit.analysis.manifest_plan.result import ManifestPlan
from simkit.snapshot.diff import ABSENT


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
