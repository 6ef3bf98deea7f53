"""Controller revisions: one for each template of a workload.

pkg/controller/history/controller_history.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.logic.workloads.naming import revision_hash, template_hash
from simkit.meta.domain import label
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, metadata

POD_HASH: Final = "controller-revision-hash"
_HASH: Final = label("hash", "controller")


def data_of(owner: Object) -> dict[str, Any]:
    """The data of a revision: the patch that restores the template."""
    return {"spec": {"template": {**(at(owner, "spec", "template") or {}), "$patch": "replace"}}}


def template_of(revision: Object) -> dict[str, Any]:
    """The template in a revision."""
    template = at(revision, "data", "spec", "template") or {}
    return {name: value for name, value in template.items() if name != "$patch"}


def ordered(revisions: Sequence[Object]) -> list[Object]:
    """The revisions from the oldest to the newest."""
    return sorted(revisions, key=lambda each: (each.get("revision") or 0, metadata(each).get("name", "")))


def hash_of(revision: Object) -> str:
    """The hash in a revision's name, which the pods of a daemon set carry."""
    return labels_of(revision).get(POD_HASH) or labels_of(revision).get(_HASH) or ""


def made(owner: Object, reference: Mapping[str, Any], number: int, collisions: int) -> Draft:
    """The revision of an owner's present template. Stateful sets hash it as data, daemon sets as a struct."""
    data = data_of(owner)
    if reference.get("kind") == "StatefulSet":
        key, name = _HASH, revision_hash(data, collisions)
    else:
        known = at(owner, "status", "collisionCount") is not None or collisions
        key, name = POD_HASH, template_hash(at(owner, "spec", "template") or {}, collisions if known else None)
    meta = {
        "name": f"{metadata(owner)['name']}-{name}",
        "labels": {**labels_of(at(owner, "spec", "template") or {}), key: name},
        "ownerReferences": [dict(reference)],
    }
    if annotations_of(owner):
        meta["annotations"] = dict(annotations_of(owner))
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "data": data, "revision": number}


def present(owner: Object, revisions: Sequence[Object]) -> Object | None:
    """The revision of the owner's present template; None if it does not exist yet."""
    wanted = data_of(owner)
    return next((each for each in reversed(ordered(revisions)) if each.get("data") == wanted), None)
