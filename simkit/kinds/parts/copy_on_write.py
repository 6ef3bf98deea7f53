"""Copies of parts of a draft before a change, since a draft shares unchanged parts with stored objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft, Object, at, copied


def own_copy(draft: Draft, *path: str) -> Draft:
    """The mapping at a path as the draft's own copy, created if it is missing.

    Examples
    --------
    >>> draft = {"spec": {"a": 1}}
    >>> own_copy(draft, "spec")["b"] = 2
    >>> draft
    {'spec': {'a': 1, 'b': 2}}
    """
    for name in path:
        draft[name] = draft = dict(draft.get(name) or {})
    return draft


def own_items(holder: Draft, name: str) -> list[Draft]:
    """The mappings of a list as the holder's own copies; empty if there is no list."""
    if not holder.get(name):
        return []
    items: list[Draft] = [dict(item) for item in holder[name]]
    holder[name] = items
    return items


def null_where_empty(holder: Draft, *names: str) -> None:
    """Set empty lists to null, as kube-apiserver stores lists without omitempty."""
    for name in names:
        if not holder.get(name):
            holder[name] = None


def without_empty(holder: Draft, names: Iterable[str]) -> None:
    """Remove empty lists and maps."""
    for name in names:
        if name in holder and not holder[name]:
            del holder[name]


def missing(
    path: str, values: Mapping[str, Any], *, optional: bool = False
) -> Callable[[ServedBehaviour, Draft], None]:
    """The ``default`` of a strategy: values for absent fields of the mapping at a path.

    The mapping is made if it is absent too, or left so if it is ``optional``.
    """
    steps = path.split(".") if path else ()

    def default(behaviour: ServedBehaviour, draft: Draft) -> None:
        if optional and at(draft, *steps) is None:
            return
        holder = own_copy(draft, *steps)
        for name, value in values.items():
            if holder.get(name) is None:
                holder[name] = value

    return default


def prepared(
    *, spec: bool = False, status: Object | None = None, without: Sequence[str] = ()
) -> Callable[[ServedBehaviour, Draft, Object | None], None]:
    """A preparation after which an object has a ``spec``, if it says so, and a new one this status, if one is given.

    Lists and maps of the names in ``without`` are gone if they are empty.
    """

    def prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
        if spec:
            draft["spec"] = draft.get("spec") or {}
        without_empty(draft, without)
        if status is not None and old is None:
            draft["status"] = copied(status)

    return prepare


def keep_all_but_status(behaviour: ServedBehaviour, draft: Draft, live: Draft | Any) -> None:
    """Keep everything but status and metadata of the live object on a write of the status."""
    fixed = ("status", "metadata", "apiVersion", "kind")
    for name in [name for name in draft if name not in fixed and name not in live]:
        del draft[name]
    draft.update({name: value for name, value in live.items() if name not in fixed})


_RESET: Final = (
    "deletionTimestamp",
    "generation",
    "selfLink",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)


def reset_object_meta_for_status(draft: Draft, live: Draft | Any) -> None:
    """Keep the labels, annotations, finalizers and owners of the live object on a write of the status."""
    kept = {name: value for name, value in live["metadata"].items() if name in _RESET}
    draft["metadata"] = {**{name: value for name, value in draft["metadata"].items() if name not in _RESET}, **kept}


def keep_all_but_own_status(behaviour: ServedBehaviour, draft: Draft, live: Draft | Any) -> None:
    """Keep everything but the status of the live object, with most of its metadata."""
    keep_all_but_status(behaviour, draft, live)
    reset_object_meta_for_status(draft, live)


def keep_metadata_and_all_but_status(behaviour: ServedBehaviour, draft: Draft, live: Draft | Any) -> None:
    """Keep everything but the status of the live object, and of the draft the managed fields too."""
    keep_all_but_status(behaviour, draft, live)
    tracked = draft["metadata"].get("managedFields")
    draft["metadata"] = {**live["metadata"], "managedFields": tracked}
