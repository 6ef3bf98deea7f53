"""Kinds of objects by the name of their file, for objects without kind and apiVersion."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from simkit.meta.domain import api_group
from simkit.meta.errors import UnknownResource
from simkit.snapshot.flatten import Found, stem
from simkit.snapshot.resources import ResourceIndex

KUSTOMIZATION: Final = "what kustomize builds from, not an object; load what `kubectl kustomize` writes"
NOT_OBJECTS: Final = {
    "kustomization": KUSTOMIZATION,
    "chart": "the description of a Helm chart, not an object; load what `helm template` writes",
    "values": "values of a Helm chart, not an object; load what `helm template` writes",
}
"""What files without objects are, by the stem of their names."""
_AUDIT_GROUP: Final = f"{api_group('audit')}/"
_AUDIT_EVENT: Final = "an event of an audit log, not an object; give the file as the audit log"


def typed(found: Found, index: ResourceIndex) -> Found:
    """The object, if necessary with the kind in the name of its file or folder.

    Go programs that write single items of lists leave apiVersion and kind out: ``roles/dev.json``,
    ``dev/rolebindings.rbac.authorization.k8s.io.json``.
    """
    value = found.value
    if not isinstance(value, dict) or value.get("kind") or value.get("apiVersion"):
        return found
    meta = value.get("metadata")
    if not isinstance(meta, dict) or not meta.get("name"):
        return found
    for word in (stem(found.file), PurePath(found.file).parent.name):
        try:
            known = index.catalogue.lookup(word)
        except UnknownResource:
            continue
        return Found({"apiVersion": known.api_version, "kind": known.kind, **value}, *found[1:])
    return found


def other_than_objects(found: Found) -> str:
    """The description of what is known to be no object; empty for anything else."""
    value = found.value
    if isinstance(value, dict) and value.get("kind") not in (None, "Kustomization", "Component"):
        return _AUDIT_EVENT if str(value.get("apiVersion")).startswith(_AUDIT_GROUP) else ""
    return NOT_OBJECTS.get(stem(found.file).lower(), "")
