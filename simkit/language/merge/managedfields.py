"""``metadata.managedFields`` as values: managers and the fields they own, in order and with a limit.

k8s.io/apimachinery/pkg/util/managedfields/internal, managedfields.go and capmanagers.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from simkit.language.merge.fieldset import (
    EMPTY,
    BadFields,
    Fields,
    decoded,
    difference,
    has,
    of_paths,
    shared,
    union_of,
)
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, metadata

APPLY: Final = "Apply"
UPDATE: Final = "Update"
FIELDS_TYPE: Final = "FieldsV1"
ANCIENT: Final = "ancient-changes"
"""The manager that the oldest entries are merged into if there are too many."""
MAX_UPDATERS: Final = 10

Record = Mapping[str, Any]
"""One entry of managedFields as an object carries it."""


class BadManagedFields(ValueError):
    """A list of managed fields that cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A manager as managed fields distinguish them: each version of an update is a manager of its own, apply is one."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        """The manager as conflict messages name it: ``"ann" with subresource "status" using v1``."""
        named = quoted(self.manager)
        if self.subresource:
            named += f" with subresource {quoted(self.subresource)}"
        return f"{named} using {self.api_version}" if self.operation == UPDATE else named

    @property
    def rank(self) -> str:
        """The sort key of a manager, in place of kube-apiserver's identifiers."""
        parts = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version}
        parts["subresource"] = self.subresource
        return "{" + ",".join(f"{quoted(name)}:{quoted(value)}" for name, value in parts.items() if value) + "}"


@dataclass(frozen=True, slots=True)
class VersionedSet:
    """The fields of one manager, and the version of their names.

    ``record`` is the entry that the claim was read from, as long as nothing about it has changed.
    """

    fields: Fields
    api_version: str
    time: str = ""
    record: Record | None = None

    def having(self, fields: Fields) -> VersionedSet:
        """The same version with other fields."""
        return self if fields == self.fields else replace(self, fields=fields, record=None)


ManagedFields = dict[Owner, VersionedSet]


def read(records: Iterable[Record], *, stored: bool = False) -> ManagedFields:
    """The managed fields in records. Stored records are assumed to be in this package's form.

    Raises
    ------
    BadManagedFields
        Where an entry lacks its operation, version or type of fields, or its fields cannot be decoded.
    """
    managed: ManagedFields = {}
    for index, record in enumerate(records):
        operation, version = record.get("operation") or "", record.get("apiVersion") or ""
        if operation not in (APPLY, UPDATE):
            raise BadManagedFields("operation must be `Apply` or `Update`")
        if not version:
            raise BadManagedFields("apiVersion must not be empty")
        _check_type(record.get("fieldsType") or "", index)
        owner = Owner(
            record.get("manager") or "",
            operation,
            version if operation == UPDATE else "",
            record.get("subresource") or "",
        )
        managed[owner] = _read_one(record, version, stored=stored)
    return managed


def _check_type(fields_type: str, index: int) -> None:
    if not fields_type:
        raise BadManagedFields(f"missing fieldsType in managed fields entry {index}")
    if fields_type != FIELDS_TYPE:
        raise BadManagedFields(f"invalid fieldsType {quoted(fields_type)} in managed fields entry {index}")


def _read_one(record: Record, version: str, *, stored: bool) -> VersionedSet:
    time = record.get("time") or ""
    if stored:
        return VersionedSet(record.get("fieldsV1") or {}, version, time, record)
    try:
        return VersionedSet(decoded(record.get("fieldsV1")), version, time)
    except BadFields as wrong:
        raise BadManagedFields(f"error decoding set: {wrong}") from wrong


def records_of(obj: Object | None) -> Sequence[Record]:
    """The managedFields of an object; empty if it has none."""
    return (metadata(obj).get("managedFields") or ()) if obj else ()


def managed_fields_of(obj: Object | None) -> ManagedFields:
    """The managed fields of a stored object; empty if they cannot be decoded."""
    return _readable(records_of(obj))


def _readable(records: Sequence[Record]) -> ManagedFields:
    try:
        return read(records, stored=True)
    except BadManagedFields:
        return {}


def written(managed: ManagedFields) -> list[Record]:
    """The records of managed fields: by operation, then time, then manager."""
    if len(managed) == 1:
        return [_record(*next(iter(managed.items())))]
    return sorted((_record(owner, claim) for owner, claim in managed.items()), key=_record_rank)


def _record_rank(record: Record) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(record.get(name) or "" for name in names)


def _record(owner: Owner, claim: VersionedSet) -> Record:
    if claim.record is not None:
        return claim.record
    record: dict[str, Any] = {"manager": owner.manager} if owner.manager else {}
    record |= {"operation": owner.operation, "apiVersion": claim.api_version}
    if claim.time:
        record["time"] = claim.time
    record |= {"fieldsType": FIELDS_TYPE, "fieldsV1": shared(claim.fields)}
    if owner.subresource:
        record["subresource"] = owner.subresource
    return record


def capped(managed: ManagedFields) -> ManagedFields:
    """The managed fields with the oldest updaters of each version merged into one, if there are too many."""
    updaters = [owner for owner in managed if owner.operation == UPDATE]
    if len(updaters) <= MAX_UPDATERS:
        return managed
    out, count = dict(managed), len(updaters)
    first_of_version: dict[str, Owner] = {}
    parts: dict[Owner, list[Fields]] = {}
    for owner in sorted(updaters, key=lambda owner: (managed[owner].time, owner.rank)):
        if count <= MAX_UPDATERS:
            break
        version = managed[owner].api_version
        first = first_of_version.setdefault(version, owner)
        if first is not owner:
            bucket = Owner(ANCIENT, UPDATE, version)
            _merge_into_bucket(out, bucket, first, owner, parts.setdefault(bucket, []))
            count -= 1
    return out | {bucket: replace(out[bucket], fields=union_of(sets)) for bucket, sets in parts.items()}


def _merge_into_bucket(managed: ManagedFields, bucket: Owner, first: Owner, owner: Owner, parts: list[Fields]) -> None:
    """Merge a manager into the bucket of its version, which begins with the oldest manager of that version.

    ``parts`` are the fields of the bucket: they are united once all are known.
    """
    latest, begun = managed[owner], bool(parts)
    for member in (owner, bucket) if bucket in managed and bucket != owner else (owner, first):
        claim = managed.pop(member)
        if member != bucket or not begun:
            parts.append(claim.fields)
    managed[bucket] = replace(latest, fields=EMPTY, record=None)


SCALE_VERSION: Final = "autoscaling/v1"
REPLICAS: Final = ("f:spec", "f:replicas")

Paths = Mapping[str, tuple[str, ...] | None]
"""The path of the replicas by apiVersion; None for a version without a scale."""


def scale_records(parent: Sequence[Record], replicas: Paths) -> list[Record]:
    """The managedFields of the Scale of an object with these managedFields."""
    managed: ManagedFields = {}
    for owner, claim in _readable(parent).items():
        path = replicas.get(claim.api_version)
        if path and has(claim.fields, *path):
            managed[_in_version(owner, SCALE_VERSION)] = VersionedSet(of_paths(REPLICAS), SCALE_VERSION, claim.time)
    return written(managed)


def parent_records(
    parent: Sequence[Record], scale: Sequence[Record], replicas: Paths, *, api_version: str
) -> list[Record]:
    """The managedFields of an object after its Scale was written.

    Parameters
    ----------
    parent, scale
        The managedFields of the object before, and of the Scale after the write.
    replicas
        Where the object has its replicas, by version.
    api_version
        The version in which the object names fields that are new to an owner.

    Notes
    -----
    Owners that are new through the Scale get no time. So do updaters that keep the replicas: they are told apart by
    version, and that of a Scale is another one, so that their entry loses the replicas to a second one.
    """
    left = dict(_readable(scale))
    managed: ManagedFields = {}
    for owner, claim in _readable(parent).items():
        if claim.api_version not in replicas:
            continue
        path = replicas[claim.api_version]
        kept = owner.operation != UPDATE and left.pop(owner, None) is not None
        if kept or path is None or not has(claim.fields, *path):
            managed[owner] = claim
        elif rest := difference(claim.fields, of_paths(path)):
            managed[owner] = claim.having(rest)
    return written({**managed, **_gained(left, of_paths(replicas.get(api_version) or ()), api_version)})


def _gained(scale: ManagedFields, fields: Fields, api_version: str) -> ManagedFields:
    gained: ManagedFields = {}
    for owner, claim in scale.items():
        if has(claim.fields, *REPLICAS):
            gained[owner] = VersionedSet(fields, api_version)
    return gained


def _in_version(owner: Owner, api_version: str) -> Owner:
    """The manager in another version: only updaters are distinguished by version."""
    version = api_version if owner.operation == UPDATE else ""
    return Owner(owner.manager, owner.operation, version, owner.subresource)
