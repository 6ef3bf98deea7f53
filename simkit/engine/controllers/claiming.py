"""Which objects belong to a controller: it takes in what matches its selector and nobody has, and lets go the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.engine.controllers.runner import Client
from simkit.engine.controllers.sending import expect, merge
from simkit.engine.controllers.view import View, controller_of, going, uid_of
from simkit.meta.labels import LabelSelector
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, labels_of, metadata, namespace_of


def claim(
    client: Client,
    view: View,
    resource: GroupResource,
    owner: Object,
    reference: Mapping[str, Any],
    selector: LabelSelector,
) -> Sequence[Object] | None:
    """The objects that an owner has. None: somebody was taken in or let go just now, and is to be seen first."""
    namespace, changed = namespace_of(owner), False
    held: list[Object] = []
    for obj in view.controlled(resource, namespace, uid_of(owner)):
        if selector.matches(labels_of(obj)):
            held.append(obj)
        elif not going(owner):
            left = [dict(each) for each in metadata(obj)["ownerReferences"] if each.get("uid") != uid_of(owner)]
            _set_owners(client, resource, obj, left)
            changed = True
    if not going(owner) and selector:
        for obj in view.controlled(resource, namespace, ""):
            if selector.matches(labels_of(obj)) and not going(obj):
                _set_owners(client, resource, obj, [*(metadata(obj).get("ownerReferences") or ()), dict(reference)])
                changed = True
    return None if changed else held


def _set_owners(client: Client, resource: GroupResource, obj: Object, owners: Sequence[Mapping[str, Any]]) -> None:
    meta = {"uid": uid_of(obj), "resourceVersion": metadata(obj)["resourceVersion"], "ownerReferences": owners or None}
    expect(merge(client, resource, obj, {"metadata": meta}), 404, 409)


def owner_names(obj: Object, kind: str) -> list[str]:
    """The name of an object's controller if it is of a kind."""
    owner = controller_of(obj)
    return [owner["name"]] if owner is not None and owner.get("kind") == kind else []
