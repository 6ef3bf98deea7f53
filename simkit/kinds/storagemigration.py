"""Strategy of StorageVersionMigration: validation of its resource and of its progress, printer columns.

Follows ``pkg/apis/storagemigration/validation/validation.go``, releases 1.30 (version v1alpha1) and 1.36 (later ones).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, prepared
from simkit.kinds.parts.go_printing.structures import structures
from simkit.kinds.parts.validation.fields import CONDITIONS, conditions, shown_conditions, status_of
from simkit.kinds.rules import FIXED, must, placed, row, validation
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.fielderror import Errors, FieldError, Shown, invalid_value, quoted
from simkit.meta.integers import parse_int
from simkit.meta.name_validation import dns1035_label, dns_subdomain
from simkit.meta.objects import Object, at, name_of
from simkit.meta.wording import Text, Worded, Written

_VERSION: Final = "status.resourceVersion"
_CONDITIONS: Final = "status.conditions"
_ENDS: Final = ("Running", "Failed", "Succeeded")


_RESOURCE: Final = row(
    "spec.resource",
    row("resource", must.be_given("resource is required to be set"), must.be(dns1035_label, joint=",")),
    row("group", must.be(dns_subdomain, joint=",")),
)


def _validate_fixed(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
    spec, before = (at(each, "spec", "resource") or {} for each in (obj, old))
    if spec == before:
        return ()
    shown = {"Resource": {name: spec.get(name) or "" for name in ("group", "resource")}}
    return [invalid_value("spec", shown, FIXED)]


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    status, before = (each.get("status") or {} for each in (obj, old or {}))
    version, conditions = status.get("resourceVersion") or "", status.get("conditions") or []
    errors = list(_validate_version(behaviour, version))
    errors += placed(_CONDITIONS, CONDITIONS(behaviour, conditions))
    errors += _validate_fixed_version(version, before.get("resourceVersion") or "", FIXED)
    shown = Shown("", shown_conditions(conditions))
    return errors + list(_validate_end(behaviour, obj, old or {}, shown))


def _validate_version(behaviour: ServedBehaviour, version: str) -> Errors:
    well_formed = version.isascii() and version.isdigit() and version[0] != "0"
    if not well_formed and (version or not behaviour.applies("migrations-without-a-version")):
        yield invalid_value(_VERSION, version, f"resource version is not well formed: {version}")


def _validate_fixed_version(version: str, before: str, text: Text) -> Errors:
    if before and version != before:
        yield invalid_value(_VERSION, version, text)


def _validate_end(behaviour: ServedBehaviour, obj: Object, old: Object, shown: Shown | Written) -> Errors:
    """Errors of a migration that has ended in two ways, runs on after its end, or begins anew."""
    running, failed, succeeded = (_is(obj, kind) for kind in _ENDS)
    if succeeded and failed:
        yield invalid_value(_CONDITIONS, shown, "Both success and failed conditions cannot be true at the same time")
    if running and not behaviour.applies("migrations-without-a-version"):
        for ended, word in ((succeeded, "success"), (failed, "failed")):
            if ended:
                text = f"Running condition cannot be true when {word} condition is true"
                yield invalid_value(_CONDITIONS, shown, text)
    for kind, word in (("Succeeded", "Success"), ("Failed", "Failed")):
        if _is(old, kind) and not _is(obj, kind):
            yield invalid_value(_CONDITIONS, shown, f"{word} condition cannot be set to false once it is true")


def _is(obj: Object, kind: str) -> bool:
    return (status_of(obj, kind) or {}).get("status") == "True"


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    conditions = at(obj, "status", "conditions") or ()
    states = [each["type"] for each in conditions if each.get("status") == "True" and each.get("type") in _ENDS]
    resource = at(obj, "spec", "resource") or {}
    named = ".".join(filter(None, (resource.get(name) for name in ("resource", "group"))))
    return [name_of(obj), named, states[-1] if states else "Unknown"]


# The first version, up to 1.34


_OLDER_RESOURCE: Final = row(
    "spec.resource",
    row("resource", must.be_given("resource is required")),
    row("version", must.be_given("version is required")),
)
_OLDER_CONDITIONS: Final = conditions(stamp="lastUpdateTime")


def _validate_fixed_older(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
    spec, before = (at(each, "spec", "resource") or {} for each in (obj, old))
    named = ("group", "version", "resource")
    changed = [name for name in named if (spec.get(name) or "") != (before.get(name) or "")]
    return [invalid_value(name, spec.get(name) or "", FIXED) for name in changed]


def _validate_older_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    status, before = (each.get("status") or {} for each in (obj, old or {}))
    version, conditions = status.get("resourceVersion") or "", status.get("conditions") or []
    errors = list(_validate_older_version(version))
    errors += placed(_CONDITIONS, _OLDER_CONDITIONS(behaviour, conditions))
    told = Worded("required-values-told-alone", FIXED, "resourceVersion cannot be updated")
    errors += _validate_fixed_version(version, before.get("resourceVersion") or "", told)
    shown = structures("storagemigration.MigrationCondition", conditions)
    return errors + list(_validate_end(behaviour, obj, old or {}, shown))


def _validate_older_version(version: str) -> Errors:
    number = parse_int(version) if version else 0
    if number is None:
        why = f"failed to parse resource version {quoted(version)}: strconv.ParseInt: parsing {quoted(version)}: "
        yield invalid_value(_VERSION, version, f"{why}invalid syntax")
    elif number < 0:
        yield invalid_value(_VERSION, number, "must be greater than or equal to 0")


def _older_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    resource = at(obj, "spec", "resource") or {}
    return [name_of(obj), ".".join(resource.get(name) or "" for name in ("resource", "version", "group"))]


_LATER: Final = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    prepare=prepared(status={}),
    validate=validation(_RESOURCE),
    validate_last=_validate_fixed,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
)
_FIRST: Final = replace(
    _LATER,
    validate=validation(_OLDER_RESOURCE),
    validate_last=_validate_fixed_older,
    print_row=_older_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_older_status)},
)


STRATEGIES: Final = {
    "StorageVersionMigration": replace(_LATER, older_versions={f"{api_group('storagemigration')}/v1alpha1": _FIRST}),
}
