"""Access to API objects, which are plain mappings and may be incomplete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.names import GroupVersion

if TYPE_CHECKING:
    from simkit.meta.behaviour import ServedBehaviour

Object = Mapping[str, Any]
"""An API object, read-only by convention: to change one, make another."""
Draft = dict[str, Any]
"""An object under construction that only one function uses."""


METADATA_FIELDS: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
"""All fields of metadata, in the order of kube-apiserver's JSON."""


def metadata(obj: Object) -> Mapping[str, Any]:
    """The metadata of an object; empty if it has none."""
    return obj.get("metadata") or {}


def name_of(obj: Object) -> str:
    """``metadata.name``, or the empty string."""
    return metadata(obj).get("name") or ""


def namespace_of(obj: Object) -> str:
    """``metadata.namespace``, or the empty string."""
    return metadata(obj).get("namespace") or ""


def labels_of(obj: Object) -> Mapping[str, str]:
    """``metadata.labels``, empty where there are none."""
    return metadata(obj).get("labels") or {}


def annotations_of(obj: Object) -> Mapping[str, str]:
    """``metadata.annotations``, empty where there are none."""
    return metadata(obj).get("annotations") or {}


def controller_of(obj: Object) -> Mapping[str, Any] | None:
    """The owner that controls an object; None where there is none."""
    for owner in metadata(obj).get("ownerReferences") or ():
        if owner.get("controller"):
            found: Mapping[str, Any] = owner
            return found
    return None


def group_version_of(obj: Object) -> GroupVersion:
    """The group and version of the object."""
    return GroupVersion.parse(obj.get("apiVersion") or "")


def at(obj: Any, *path: str | int) -> Any:
    """The value at a path of keys and indexes; None if a part is missing.

    Examples
    --------
    >>> at({"spec": {"ports": [{"port": 80}]}}, "spec", "ports", 0, "port")
    80
    >>> at({"spec": None}, "spec", "ports") is None
    True
    """
    for step in path:
        if obj.__class__ is dict or isinstance(obj, Mapping):
            obj = obj.get(step)
        elif isinstance(step, int) and isinstance(obj, Sequence) and -len(obj) <= step < len(obj):
            obj = obj[step]
        else:
            return None
    return obj


def copied(value: Any) -> Any:
    """A deep copy of JSON-like data, faster than ``copy.deepcopy`` because it knows the few types."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    return value


def with_metadata(obj: Object, **changes: Any) -> Draft:
    """The object with some fields of its metadata set; None removes the field."""
    merged = {**metadata(obj), **changes}
    return {**obj, "metadata": {key: value for key, value in merged.items() if value is not None}}


def null_creation(behaviour: ServedBehaviour) -> dict[str, Any]:
    """The creation time in metadata of what was never stored: null, and nothing at all since 1.34."""
    return {} if behaviour.applies("no-null-creation-time") else {"creationTimestamp": None}
