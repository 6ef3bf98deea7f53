"""The default class of a kind: the newest that is annotated as default, the first by name among equals.

Upstream: plugin/pkg/admission/network/defaultingressclass/admission.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simkit.engine.seams import Entry
from simkit.meta.objects import Object, annotations_of, metadata, name_of


def marked_classes(classes: Iterable[Entry], annotations: Sequence[str]) -> list[Object]:
    """The classes that are annotated as default."""
    return [
        entry.object
        for entry in classes
        if any(annotations_of(entry.object).get(annotation) == "true" for annotation in annotations)
    ]


def default_class(classes: Iterable[Entry], annotations: Sequence[str]) -> str:
    """The name of the default class, empty where none is marked."""
    return newest_class(marked_classes(classes, annotations))


def newest_class(marked: Sequence[Object]) -> str:
    """The name of the newest of some classes, the first by name among equals; empty if there are none."""
    newest = max((metadata(obj).get("creationTimestamp") or "" for obj in marked), default="")
    names = [name_of(obj) for obj in marked if (metadata(obj).get("creationTimestamp") or "") == newest]
    return min(names, default="")
