"""Fields of a pod, and amounts of its containers, as the downward API shows them.

Upstream: pkg/fieldpath/fieldpath.go and pkg/api/v1/resource/helpers.go (``ExtractContainerResourceValue``),
release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata
from simkit.meta.quantity import parse


def field_value(pod: Object, path: str) -> str:
    """The text of a field of a pod, as the downward API gives it.

    Examples
    --------
    >>> field_value({"metadata": {"name": "web", "labels": {"app": "x"}}}, "metadata.labels['app']")
    'x'
    """
    for prefix, values in (("metadata.labels['", labels_of(pod)), ("metadata.annotations['", annotations_of(pod))):
        if path.startswith(prefix):
            return values.get(path[len(prefix) :].removesuffix("']"), "")
    if path.startswith("metadata."):
        return str(metadata(pod).get(path.removeprefix("metadata."), ""))
    return str(at(pod, *path.split(".")) or "")


def listed_fields(pod: Object, path: str) -> str:
    """The same, where labels and annotations may be asked for as a whole, a line for each.

    Examples
    --------
    >>> listed_fields({"metadata": {"labels": {"b": "2", "a": "1"}}}, "metadata.labels")
    'a="1"\\nb="2"'
    """
    whole = {"metadata.labels": labels_of, "metadata.annotations": annotations_of}.get(path)
    if whole is None:
        return field_value(pod, path)
    return "\n".join(f'{key}="{value}"' for key, value in sorted(whole(pod).items()))


def resource_value(pod: Object, container: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """An amount that a container requests or is limited to, in whole multiples of the divisor."""
    named = reference.get("containerName")
    chosen = next((each for each in at(pod, "spec", "containers") or () if each.get("name") == named), container)
    kind, _, name = str(reference.get("resource", "")).partition(".")
    text = at(chosen, "resources", kind, name) or "0"
    divisor = parse(str(reference.get("divisor") or "1")).nano or parse("1").nano
    return str(-(-parse(str(text)).nano // divisor))
