"""Adopts matching objects without a controller, and releases owned objects that no longer match.

Upstream: pkg/controller/controller_ref_manager.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.engine.controllers.client_requests import expect, merge
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.dependency_graph import owners_of
from simkit.engine.controllers.lister import Lister, is_terminating, uid_of
from simkit.engine.seams import Change
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, controller_of, labels_of, metadata, name_of, namespace_of


def _any(_: Object) -> bool:
    return True


class UnmatchedTemplate(Exception):
    """A workload whose selector does not match its own template, which validation refuses, but a dump may hold."""


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """The rules by which an owner adopts and releases objects."""

    selector: LabelSelector
    member: Callable[[Object], bool] = _any
    """A further condition for objects besides the selector."""
    looks_at: Callable[[Object], bool] = _any
    """Others are neither taken in nor let go."""
    finalizer: str = ""
    """The finalizer that adopted objects get, and that released ones lose."""

    def takes(self, obj: Object) -> bool:
        """True if an object is to be the owner's."""
        return self.selector.matches(labels_of(obj)) and self.member(obj)


def claim(
    client: Client,
    lister: Lister,
    resource: GroupResource,
    owner: Object,
    reference: Mapping[str, Any],
    wanted: ClaimRules,
) -> Sequence[Object] | None:
    """The objects that an owner has. None: somebody was taken in or let go just now, and is to be seen first."""
    _check_template(owner, wanted)
    namespace, uid, changed = namespace_of(owner), uid_of(owner), False
    held: list[Object] = []
    for obj in filter(wanted.looks_at, lister.controlled(resource, namespace, uid) if uid else ()):
        if wanted.takes(obj):
            held.append(obj)
        elif not is_terminating(owner):
            left = [dict(each) for each in metadata(obj)["ownerReferences"] if each.get("uid") != uid]
            _set_owners(client, resource, obj, left, [each for each in _finalizers(obj) if each != wanted.finalizer])
            changed = True
    if not is_terminating(owner) and wanted.selector:
        for obj in filter(wanted.looks_at, lister.controlled(resource, namespace, "")):
            if wanted.takes(obj) and not is_terminating(obj):
                owners = [*owners_of(obj), dict(reference)]
                added = [wanted.finalizer] if wanted.finalizer else []
                _set_owners(client, resource, obj, owners, list(dict.fromkeys([*_finalizers(obj), *added])))
                changed = True
    return None if changed else held


def _check_template(owner: Object, wanted: ClaimRules) -> None:
    """Raise UnmatchedTemplate for an owner of a dump that could never have what it makes."""
    template = at(owner, "spec", "template")
    if template and not is_terminating(owner) and not wanted.selector.matches(labels_of(template)):
        raise UnmatchedTemplate("the selector does not match the labels of the template")


def _finalizers(obj: Object) -> Sequence[str]:
    return metadata(obj).get("finalizers") or ()


def _set_owners(
    client: Client, resource: GroupResource, obj: Object, owners: Sequence[Mapping[str, Any]], finalizers: Sequence[str]
) -> None:
    meta = {"uid": uid_of(obj), "resourceVersion": metadata(obj)["resourceVersion"], "ownerReferences": owners or None}
    if finalizers != _finalizers(obj):
        meta["finalizers"] = finalizers or None
    expect(merge(client, resource, obj, {"metadata": meta}), 404, 409)


def owners_concerned(
    change: Change,
    lister: Lister,
    owners: GroupResource,
    kind: str,
    claimed: GroupResource,
    selector: Callable[[Object], LabelSelector],
) -> list[Key]:
    """The owners to look at because of a change: of their own, of what they have or had, of what they may take in."""
    key, obj = change.entry.key, change.entry.object
    if key.resource == owners:
        return [key]
    names = set(owner_names(obj, kind))
    previous = None if change.previous is None else change.previous.object
    if previous is not None and metadata(previous).get("ownerReferences") != metadata(obj).get("ownerReferences"):
        names.update(owner_names(previous, kind))
    if not names and key.resource == claimed and controller_of(obj) is None:
        candidates = lister.scan(owners, key.namespace)
        names.update(name_of(each) for each in candidates if selector(each).matches(labels_of(obj)))
    return [Key(owners, key.namespace, name) for name in names]


def selector_of(owner: Object) -> LabelSelector:
    """``spec.selector``."""
    return of_object(at(owner, "spec", "selector"))


def owner_names(obj: Object, kind: str) -> list[str]:
    """The name of an object's controller if it is of a kind."""
    owner = controller_of(obj)
    name = (owner or {}).get("name")
    return [name] if owner is not None and name and owner.get("kind") == kind else []
