"""Field ownership after writes other than applies: a manager owns the fields that it changes.

structured-merge-diff v4.4, Updater.Update in merge/update.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.language.merge.fieldset import EMPTY, Fields, difference, of_paths, recursive_difference, union
from simkit.language.merge.managedfields import (
    UPDATE,
    BadManagedFields,
    ManagedFields,
    Owner,
    Record,
    VersionedSet,
    capped,
    managed_fields_of,
    read,
    records_of,
    written,
)
from simkit.language.merge.type_def import BadElement, TypeDef, type_def_of
from simkit.language.merge.typed import Comparison
from simkit.language.merge.validate import tells_elements_apart
from simkit.language.merge.versions import Converter, Versions, reconciled
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.bounded_cache import cached_when_short
from simkit.meta.objects import Object, metadata
from simkit.schema.structural import Schema

MAX_NAME_BYTES: Final = 128
UNKNOWN: Final = "unknown"

UNTRACKED: Final[Fields] = of_paths(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
"""Fields that nobody owns."""


def track_update(
    behaviour: ServedBehaviour,
    live: Object | None,
    wanted: Object,
    schema: Schema | None,
    *,
    manager: str,
    api_version: str,
    time: str,
    subresource: str = "",
    reset_fields: Fields = EMPTY,
    convert: Converter | None = None,
) -> list[Record]:
    """The managedFields of an object after a create, replace or patch.

    Parameters
    ----------
    live
        What is stored, in the version of the request; None on create.
    wanted
        What is about to be stored: decoded and defaulted, before admission has changed it. Its own managedFields
        count where they can be read: a list that is empty or holds one empty entry takes all owners away.
    schema
        The schema of the request's version; None for objects whose fields are not described.
    manager, api_version, time, subresource
        Who writes, in which version (``apps/v1``), when (RFC 3339), and through which subresource.
    reset_fields
        Fields that this endpoint does not write, which nobody comes to own through it (``status`` on the main path).
    convert
        How to compare in the versions of other owners; without it they count as having the request's form.

    Returns
    -------
    list of mappings
        In their fixed order; empty where the object is not tracked: one that lost its managers, one with an element
        of a list that lacks its keys, and at some releases one with an element that is there twice.

    Notes
    -----
    O(what changed) after one look at both objects. Where kube-apiserver, merging the oldest updaters, would lose the
    entry that it merged them into before, this keeps it.
    """
    subresource = subresource if behaviour.applies("owners-by-subresource") else ""
    managed = managed_fields_before(live, wanted, subresource)
    if not managed and live is not None and metadata(live).get("uid"):
        return []
    owner, type_def = Owner(manager or UNKNOWN, UPDATE, api_version, subresource), type_def_of(behaviour, schema)
    if not behaviour.applies("repeats-tracked") and not all(
        tells_elements_apart(each, type_def) for each in (live, wanted)
    ):
        return []
    try:
        after = updated(
            behaviour, live or {}, wanted, managed, owner, type_def, time=time, ignored=reset_fields, convert=convert
        )
    except BadElement:
        return []
    return written(capped(after))


def updated(
    behaviour: ServedBehaviour,
    live: Object,
    wanted: Object,
    managed: ManagedFields,
    owner: Owner,
    type_def: TypeDef,
    *,
    time: str,
    ignored: Fields = EMPTY,
    convert: Converter | None = None,
) -> ManagedFields:
    """The managed fields after an update: the writer gains the changed fields, all others lose them."""
    version = owner.api_version
    versions = Versions(behaviour, live, wanted, type_def, version, convert, ignored, written=True)
    after = {
        other: left
        for other, claim in reconciled(behaviour, managed, live, type_def, version, convert).items()
        if (left := reduced(claim, versions.comparison(claim.api_version))) is not None
    }
    gained = difference(recursive_difference(versions.own.changed, ignored), UNTRACKED)
    if gained:
        before = after.get(owner)
        after[owner] = VersionedSet(union(before.fields, gained) if before else gained, version, time)
    return after


def reduced(claim: VersionedSet, comparison: Comparison | None) -> VersionedSet | None:
    """The fields that remain to another manager; None if there are none, or its version is not served."""
    if comparison is None:
        return None
    lost = union(comparison.changed, comparison.removed)
    left = claim.having(difference(claim.fields, lost)) if lost else claim
    return left if left.fields else None


def managed_fields_before(live: Object | None, wanted: Object, subresource: str) -> ManagedFields:
    """The managed fields at the start of a write: those of the written object, else those of the live one."""
    brought = None if subresource else metadata(wanted).get("managedFields")
    if brought is None or (live and brought == records_of(live)):
        return managed_fields_of(live)
    if is_reset(brought):
        return {}
    try:
        return read(brought) or managed_fields_of(live)
    except BadManagedFields:
        return managed_fields_of(live)


def is_reset(records: Sequence[Mapping[str, Any]]) -> bool:
    """True if these managedFields ask to remove all managers: an empty list, or a single empty entry."""
    return not records or (len(records) == 1 and all(value in (None, "") for value in records[0].values()))


def with_old_times(live: Object | None, wanted: Object) -> Object:
    """The wanted object with the live managedFields if only their times differ, so that nothing is written."""
    if live is None or not records_of(live):
        return wanted
    old, new = records_of(live), records_of(wanted)
    if len(old) != len(new) or not all(map(lambda one, other: {**one, "time": ""} == {**other, "time": ""}, old, new)):
        return wanted
    rest, live_rest = dict(metadata(wanted)), dict(metadata(live))
    rest["managedFields"] = live_rest["managedFields"] = old
    if rest != live_rest or {**wanted, "metadata": None} != {**live, "metadata": None}:
        return wanted
    return {**wanted, "metadata": rest}


@cached_when_short(1024)
def manager_from_user_agent(agent: str) -> str:
    """The default manager of a client: its User-Agent up to the first slash.

    Examples
    --------
    >>> manager_from_user_agent("kubectl/v1.30.0 (linux/amd64)")
    'kubectl'
    """
    name, size = [], 0
    for letter in agent.split("/", 1)[0]:
        if not letter.isprintable():
            continue
        size += len(letter.encode())
        if size > MAX_NAME_BYTES:
            break
        name.append(letter)
    return "".join(name)
