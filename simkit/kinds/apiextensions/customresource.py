"""Strategy of custom resources, made from the version of their definition.

Follows ``k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go``, release 1.30.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.apiextensions.definition import CustomVersion
from simkit.kinds.apiextensions.printer_columns import cell
from simkit.kinds.apiextensions.validation.defaults import embedded
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, invalid_value, quoted
from simkit.meta.go_fmt import format_value, type_name
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Draft, Object, at, metadata, name_of
from simkit.meta.wording import told
from simkit.schema.custom.defaulting import fill, write_whole
from simkit.schema.custom.messages import NOWHERE
from simkit.schema.custom.structural import repeated
from simkit.schema.custom.validation import ABSENT, Check
from simkit.schema.field_labels import field_text

_LARGEST: Final = 2**31 - 1


class _Misplaced(Exception):
    """A value of a wrong type at a path; the message is kube-apiserver's."""


def validate_scale(scale: Mapping[str, Any], obj: Object, *, only_status: bool) -> Errors:
    """The errors of the desired and actual replicas, and of the selector."""
    if not only_status:
        yield from _validate_replica(obj, scale.get("specReplicasPath") or "")
    yield from _validate_replica(obj, scale.get("statusReplicasPath") or "")
    path = scale.get("labelSelectorPath")
    if path is not None:
        try:
            _value(obj, path, str, "string")
        except _Misplaced as error:
            yield invalid_value(path, "", str(error))


def _validate_replica(obj: Object, path: str) -> Errors:
    try:
        replicas = _value(obj, path, int, "int64") or 0
    except _Misplaced as error:
        yield invalid_value(path, 0, str(error))
        return
    if replicas < 0:
        yield invalid_value(path, replicas, "should be a non-negative integer")
    elif replicas > _LARGEST:
        yield invalid_value(path, replicas, f"should be less than or equal to {_LARGEST}")


def _value(obj: Object, path: str, wanted: type, name: str) -> Any:
    """The value at a path; None if there is none."""
    steps = path.removeprefix(".").split(".")
    found: Any = obj
    for index, step in enumerate(steps):
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise _misplaced(steps[: index + 1], found, "map[string]interface{}")
        if step not in found:
            return None
        found = found[step]
    if type(found) is not wanted:
        raise _misplaced(steps, found, name)
    return found


def _misplaced(steps: list[str], found: Any, wanted: str) -> _Misplaced:
    place = "".join(f".{step}" for step in steps)
    return _Misplaced(
        f"{place} accessor error: {format_value(found)} is of the type {type_name(found)}, expected {wanted}"
    )


_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_SKIPPED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def strategy_of(version: CustomVersion) -> Strategy:
    """The strategy of a version's objects. Schemas and rules are compiled on demand."""
    custom = _CustomResourceStrategy(version)
    with_status = version.resource.has_status
    return Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        default=custom.default,
        validate=custom.validate,
        raises_generation=custom.raises_generation,
        print_row=custom.print_row,
        selectable_fields=custom.selectable_fields,
        subresources={"status": Subresource(_status_alone, custom.validate_status)} if with_status else None,
        warnings=custom.warnings,
        unqualified_finalizers=True,
        allow_unconditional_update=False,
        from_storage=lambda obj: obj if version.is_of(obj) else version.read(obj),
        to_storage=version.stored,
    )


def _status_alone(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Keep everything but status and managed fields of the live object on a write of the status."""
    status, given = draft.get("status", ABSENT), draft["metadata"]
    draft.clear()
    draft.update(live)
    draft["metadata"] = {name: value for name, value in live["metadata"].items() if name != "resourceVersion"}
    for name in ("managedFields", "name"):
        if name in given:
            draft["metadata"][name] = given[name]
    draft.pop("status", None)
    if status is not ABSENT:
        draft["status"] = status


class _CustomResourceStrategy:
    """The checks of objects of one version."""

    def __init__(self, version: CustomVersion) -> None:
        self._version, self._behaviour = version, version.behaviour
        self._check: Check | None = None
        self._rules: Any = None
        self._with_rules: bool | None = None
        self._said = threading.local()

    # What is made once

    def _checks(self) -> Check:
        if self._check is None:
            self._check = Check(self._behaviour, self._version.properties)
        return self._check

    def _expressions(self) -> Any:
        """The rules of the schema; None if it has none. CEL is imported with the first."""
        if self._with_rules is None:
            from simkit.kinds.apiextensions.cel_validation import CelValidator, has_rules

            self._rules = (
                CelValidator(self._behaviour, self._version.schema, root=True)
                if has_rules(self._version.schema)
                else None
            )
            self._with_rules = self._rules is not None
        return self._rules

    # The functions of the strategy

    def default(self, behaviour: ServedBehaviour, draft: Draft) -> None:
        noted = draft.pop("metadata", None)
        fill(draft, self._version.schema)
        write_whole(draft)
        if noted is not None:
            draft["metadata"] = noted

    def validate(self, behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
        shown, before = self._in_version(obj), self._before(old)
        errors = self._checks().errors(shown, before)
        errors += self._validate_scale(shown)
        errors += embedded(self._behaviour, shown, self._version.schema)
        if before is ABSENT or not repeated(before, self._version.schema):
            errors += repeated(shown, self._version.schema)
        return errors + self._asked(shown, before, errors, obj)

    def validate_status(self, behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
        shown, before = self._in_version(obj), self._before(old)
        errors: list[FieldError] = []
        properties: Mapping[str, Any] | None = at(self._version.properties, "properties", "status")
        if "status" in shown and properties is not None:
            earlier = before.get("status", ABSENT) if before is not ABSENT else ABSENT
            under = "status" if self._behaviour.applies("faults-name-the-status") else ""
            errors += Check(self._behaviour, properties).errors(shown["status"], earlier, under=under)
        errors += self._validate_scale(shown, only_status=True)
        return errors + self._asked(shown, before, errors, obj)

    def _in_version(self, obj: Object) -> dict[str, Any]:
        return {**obj, "apiVersion": self._version.api_version, "kind": self._version.definition.kind}

    def _before(self, old: Object | None) -> Any:
        return ABSENT if old is None else self._version.read(old)

    def _asked(self, shown: Object, before: Any, errors: Sequence[FieldError], obj: Object) -> list[FieldError]:
        """The errors of the rules, which are not evaluated if types or sizes are invalid, or the name is missing."""
        self._said.about, self._said.warnings = obj, []
        expressions = self._expressions()
        if expressions is None:
            return []
        if not name_of(obj) or any(error.kind in _BLOCKING for error in errors):
            return [invalid_value(NOWHERE, None, _SKIPPED)]
        found: list[FieldError] = expressions.errors(shown, before, warn=self._said.warnings.append)
        return found

    def warnings(self, behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
        """The warnings of this thread's last validation of the object, and of finalizers without a domain."""
        said = self._said.warnings if getattr(self._said, "about", None) is obj else []
        return [*said, *_finalizer_warnings(self._behaviour, obj, old)]

    def raises_generation(self, obj: Object, old: Object) -> bool:
        before = self._version.read(old)
        ignored = {"metadata", "apiVersion", "kind"}
        if self._version.resource.has_status:
            ignored.add("status")
        names = (obj.keys() | before.keys()) - ignored
        return any(obj.get(name, ABSENT) != before.get(name, ABSENT) for name in names)

    def print_row(self, behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
        return [name_of(obj), *(cell(obj, column, now) for column in self._version.columns or (_AGE,))]

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        """The values of the selectable fields, in this version."""
        paths = self._version.selectable
        if not paths:
            return {}
        shown = self._version.read(obj)
        return {path: field_text(at(shown, *path.split("."))) for path in paths}

    # Scale

    def _validate_scale(self, obj: Object, *, only_status: bool = False) -> Sequence[FieldError]:
        scale = self._version.subresources.get("scale")
        return list(validate_scale(scale, obj, only_status=only_status)) if scale else ()


def _finalizer_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> list[str]:
    known = metadata(old).get("finalizers") or () if old is not None else ()
    found: list[str] = []
    for name in sorted(set(metadata(obj).get("finalizers") or ()) - set(known)):
        texts = list(qualified_name(name))
        if "/" not in name and name not in ("orphan", "foregroundDeletion", "kubernetes"):
            texts.append(
                "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            )
        found += [f"metadata.finalizers: {quoted(name)}: {told(text, behaviour)}" for text in texts]
    return found


def column_definitions(version: CustomVersion) -> list[dict[str, Any]]:
    """The columns of a Table of this version's objects."""
    found = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
    for column in version.columns or (_AGE,):
        told = f"Custom resource definition column (in JSONPath format): {column.get('jsonPath') or ''}"
        found.append(
            {
                "name": column.get("name") or "",
                "type": column.get("type") or "",
                "format": column.get("format") or "",
                "description": (column.get("description") or told) if version.columns else "",
                "priority": column.get("priority") or 0,
            }
        )
    return found
