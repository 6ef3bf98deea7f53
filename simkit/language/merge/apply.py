"""Server-side apply: a manager's applied configuration, merged with fields of other managers.

structured-merge-diff v4.4, Updater.Apply in merge/update.go; k8s.io/apimachinery/pkg/util/managedfields, release
1.30; KEP-555.

Upstream: sigs.k8s.io/structured-merge-diff/v4/merge/update.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.language.merge import lastapplied
from simkit.language.merge.fieldset import (
    EMPTY,
    Fields,
    difference,
    has,
    intersection,
    path_text,
    paths,
    recursive_difference,
)
from simkit.language.merge.managedfields import (
    APPLY,
    UPDATE,
    BadManagedFields,
    ManagedFields,
    Owner,
    VersionedSet,
    read,
    records_of,
    written,
)
from simkit.language.merge.mergepatch import failed, malformed
from simkit.language.merge.type_def import BadElement, TypeDef, type_def_of
from simkit.language.merge.typed import field_set, merged, same
from simkit.language.merge.unapplied_fields import Pruner
from simkit.language.merge.update import UNTRACKED, reduced, updated
from simkit.language.merge.validate import metadata_of, reference_text, tells_elements_apart, text_of, validation_errors
from simkit.language.merge.versions import Converter, Versions, reconciled
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import StatusError
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Draft, Object, metadata
from simkit.schema.structural import Schema

BEFORE_FIRST_APPLY: Final = "before-first-apply"
"""The manager of the existing fields of an object without managed fields, at the first apply."""

Conflict = tuple[Owner, tuple[str, ...]]
"""Another owner, and the path of a field that it owns."""


class ApplyConflict(StatusError):
    """409: the applied configuration changes fields of others. ``conflicts`` lists them by owner and then by path."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = tuple(conflicts)
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path_text(path)}
            for owner, path in self.conflicts
        ]
        super().__init__(409, "Conflict", _summary(self.conflicts), details={"causes": causes})


def _summary(conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        owner, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {owner}: {path_text(path)}"
    lines: list[str] = []
    for owner in dict.fromkeys(owner for owner, _ in conflicts):
        lines.append(f"conflicts with {owner}:")
        lines += [f"- {path_text(path)}" for other, path in conflicts if other == owner]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Application:
    """One apply: the values that stay the same over its one or two attempts."""

    behaviour: ServedBehaviour
    live: Object
    applied: Object
    type_def: TypeDef
    owner: Owner
    api_version: str
    time: str
    ignored: Fields
    convert: Converter | None


def apply(
    behaviour: ServedBehaviour,
    live: Object | None,
    applied: Object,
    schema: Schema | None,
    *,
    manager: str,
    force: bool,
    api_version: str,
    time: str,
    subresource: str = "",
    kind: str | None = None,
    convert: Converter | None = None,
    reset_fields: Fields = EMPTY,
) -> Draft:
    """The object that results from an applied configuration, with its managedFields, before defaulting and validation.

    Parameters
    ----------
    live
        What is stored, in the version of the request; None where the apply creates.
    applied
        The intent as it was sent.
    schema
        The schema of the request's version; None for objects whose fields are not described.
    manager, api_version, time, subresource
        Who applies, in which version (``apps/v1``), when (RFC 3339), and through which subresource.
    force
        Take fields from other owners instead of refusing.
    kind
        The kind that the intent must name, where it is to be checked.
    convert
        How to come from the version that an object names to another one; without it all versions count as one form.
    reset_fields
        Fields that this endpoint does not write, which nobody comes to own through it.

    Returns
    -------
    dict
        A new object. The same values and managedFields as the live one where nothing has changed.

    Raises
    ------
    ApplyConflict
        Where the intent changes fields of others, and ``force`` is not set.
    PatchError
        400 for an intent of another type or with managedFields; 500 for one that is not of its schema.

    Notes
    -----
    An owner who applies what is there already gets an entry without time, as in kube-apiserver.

    References
    ----------
    Specification, "Server-side apply rules"; KEP 555.
    """
    gvk_text = _check_type(applied, api_version, kind)
    type_def = type_def_of(behaviour, schema)
    _check_owners(applied)
    owner = Owner(manager, APPLY, "", subresource if behaviour.applies("owners-by-subresource") else "")
    application = _Application(
        behaviour, live or {}, applied, type_def, owner, api_version, time, reset_fields, convert
    )
    managed = _claims(application, gvk_text)
    _check_fit(behaviour, "patch", applied, type_def, gvk_text)
    if not behaviour.applies("repeats-tracked") and not tells_elements_apart(live, type_def):
        _check_fit(behaviour, "live", application.live, type_def, gvk_text)
    try:
        result = _attempt(application, managed, force=force)
    except ApplyConflict as conflict:
        _check_upgrade(application, conflict)
        result = _attempt(application, managed, force=True)
    return lastapplied.renewed(result, applied) if manager == lastapplied.CLIENT else result


def _check_type(applied: Object, api_version: str, kind: str | None) -> str:
    version, word = text_of(applied.get("apiVersion")), text_of(applied.get("kind"))
    group, name = GroupVersion.parse(version)
    text = f"{group}/{name}, Kind={word}" if version.count("/") < 2 else "/, Kind="
    if version != api_version or (kind is not None and word != kind):
        raise malformed(f"invalid object type: {text}")
    return text


def _check_owners(applied: Object) -> None:
    fields = metadata_of(applied).get("managedFields")
    if isinstance(fields, list) and all(isinstance(entry, dict) for entry in fields):
        raise malformed("metadata.managedFields must be nil")


def _check_fit(behaviour: ServedBehaviour, word: str, obj: Object, type_def: TypeDef, gvk_text: str) -> None:
    wrong = validation_errors(obj, type_def)
    if wrong:
        named = f" ({reference_text(obj, gvk_text)})" if behaviour.applies("typed-errors-name-objects") else ""
        raise failed(f"failed to create typed {word} object{named}: {wrong}")


def _claims(application: _Application, gvk_text: str) -> ManagedFields:
    """The managed fields of the live object; the fields of an object without them get an owner of their own.

    Raises the 500 of an object with a list whose elements cannot be told apart.
    """
    live = application.live
    try:
        managed = read(records_of(live), stored=True)
    except BadManagedFields as wrong:
        raise failed(f"failed to decode managed fields: {wrong}") from wrong
    if managed or not live:
        return managed
    before = Owner(BEFORE_FIRST_APPLY, UPDATE, application.api_version, application.owner.subresource)
    type_def = application.type_def
    if not application.behaviour.applies("repeats-tracked") and not tells_elements_apart(live, type_def):
        raise _unowned(application.behaviour, live, gvk_text, validation_errors(live, type_def))
    try:
        return updated(
            application.behaviour, {}, live, {}, before, type_def, time=application.time, ignored=application.ignored
        )
    except BadElement as wrong:
        raise _unowned(
            application.behaviour, live, gvk_text, validation_errors(live, type_def) or str(wrong)
        ) from wrong


def _unowned(behaviour: ServedBehaviour, live: Object, gvk_text: str, wrong: str) -> StatusError:
    """The error of an object whose fields can have no owner."""
    named = reference_text(live, gvk_text) if behaviour.applies("typed-errors-name-objects") else gvk_text
    told = f"failed to convert new object ({named}) to smd typed: {wrong}"
    return failed(f"failed to create manager for existing fields: {told}")


def _attempt(application: _Application, managed: ManagedFields, *, force: bool) -> Draft:
    """Merge, prune and update ownership. Raises ApplyConflict."""
    live, type_def, owner, version = application.live, application.type_def, application.owner, application.api_version
    managed = dict(reconciled(application.behaviour, managed, live, type_def, version, application.convert))
    last = managed.get(owner)
    mine = recursive_difference(field_set(application.applied, type_def), application.ignored)
    managed[owner] = VersionedSet(mine, version)
    wanted = _merged(application)
    prune = Pruner(application.behaviour, type_def, version, application.convert)
    wanted = prune.prune(wanted, managed, last, mine)
    after = _settled(application, wanted, managed, force=force)
    changed = not same(live, wanted)
    tracked = difference(mine, UNTRACKED)
    if tracked:
        time = application.time if changed else last.time if last else ""
        kept = last and not changed and last.fields == tracked and last.api_version == version
        after[owner] = last if last and kept else VersionedSet(tracked, version, time)
    return _with_claims(wanted if changed else live, after, type_def)


def _merged(application: _Application) -> Object:
    try:
        wanted: Object = merged(application.live, application.applied, application.type_def)
    except BadElement as wrong:
        raise failed(f"failed to merge config: {wrong}") from wrong
    return wanted


def _settled(application: _Application, wanted: Object, managed: ManagedFields, *, force: bool) -> ManagedFields:
    """The managed fields of the others after the apply."""
    ignored, convert = application.ignored, application.convert
    versions = Versions(
        application.behaviour,
        application.live,
        wanted,
        application.type_def,
        application.api_version,
        convert,
        ignored,
        written=False,
    )
    others = {owner: claim for owner, claim in managed.items() if owner != application.owner}
    if not force:
        conflicts = _conflicts(others, versions)
        if conflicts:
            raise ApplyConflict(conflicts)
    left = ((owner, reduced(claim, versions.comparison(claim.api_version))) for owner, claim in others.items())
    return {owner: claim for owner, claim in left if claim is not None}


def _conflicts(others: ManagedFields, versions: Versions) -> Sequence[Conflict]:
    found: list[Conflict] = []
    for owner in sorted(others, key=lambda other: other.rank):
        comparison = versions.comparison(others[owner].api_version)
        if comparison is not None and comparison.changed:
            found += [(owner, path) for path in paths(intersection(others[owner].fields, comparison.changed))]
    return found


def _with_claims(obj: Object, managed: ManagedFields, type_def: TypeDef) -> Draft:
    out = _without_nulls(obj, type_def) if type_def.structured else dict(obj)
    about: dict[str, Any] = {name: value for name, value in metadata(out).items() if name != "managedFields"}
    records = written(managed)
    if records:
        about["managedFields"] = records
    out["metadata"] = about
    return out


def _without_nulls(value: Mapping[str, Any], type_def: TypeDef) -> dict[str, Any]:
    """A built-in object without nulls that its Go structs do not have; a null entry of a map becomes its empty
    value."""
    out: dict[str, Any] = {}
    for name, item in value.items():
        entry = type_def.fields.get(name)
        child = entry.type_def if entry else type_def.values
        if item is None and entry is not None:
            continue
        out[name] = "" if item is None and child and child.type == "string" else _cleaned(item, child)
    return out


def _cleaned(value: Any, type_def: TypeDef | None) -> Any:
    if type_def is None:
        return value
    if isinstance(value, dict) and type_def.type == "map":
        return _without_nulls(value, type_def)
    if isinstance(value, list) and type_def.type == "list":
        return [
            _cleaned({} if item is None and type_def.items.type == "map" else item, type_def.items) for item in value
        ]
    return value


def _check_upgrade(application: _Application, conflict: ApplyConflict) -> None:
    """Allow conflicts with fields of the manager's own client-side apply; raise the others."""
    if application.owner.manager != lastapplied.CLIENT:
        raise conflict
    allowed = lastapplied.owned_fields(application.live, application.type_def, application.api_version)
    if allowed is None:
        raise conflict
    left = [found for found in conflict.conflicts if not has(allowed, *found[1])]
    if left:
        raise ApplyConflict(left)
