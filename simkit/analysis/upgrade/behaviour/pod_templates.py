"""Pods and pod templates, wherever objects hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.objects import Object, at, metadata

_TEMPLATE: Final = ("spec", "template")
TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "Deployment": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "ReplicationController": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "Job": _TEMPLATE,
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
}
"""The path to the template in each built-in kind. Follows ``pkg/api/pod`` and the types of ``k8s.io/api``, release
1.30."""
_BUILT_IN: Final = frozenset(("v1", "apps", "batch", "extensions"))
_MARK: Final = b'"containers":['
_DEEPEST: Final = 20


def pod_templates(obj: Object, body: bytes) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Each pod or template of an object with its path. Pods that something controls, and revisions, are left to what
    makes them.

    ``body`` is the object's text: custom resources without containers in it are not looked through.
    """
    kind, api_version = str(obj.get("kind")), str(obj.get("apiVersion"))
    path = TEMPLATES.get(kind) if api_version.partition("/")[0] in _BUILT_IN else None
    if path is not None:
        found = at(obj, *path)
        if isinstance(found, Mapping) and not (kind == "Pod" and _is_controlled(obj)):
            yield path, found
    elif kind != "ControllerRevision" and (_MARK in body or not body):
        yield from _nested(obj, ())


def _is_controlled(pod: Object) -> bool:
    owners = metadata(pod).get("ownerReferences")
    return isinstance(owners, list) and any(isinstance(each, Mapping) and each.get("controller") for each in owners)


def _nested(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The pod templates in an object of another kind: values whose spec has containers with images."""
    if len(path) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        if _has_containers(value.get("spec")):
            yield path, value
            return
        for name, inner in value.items():
            yield from _nested(inner, (*path, str(name)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _nested(inner, (*path, f"[{index}]"))


def _has_containers(spec: Any) -> bool:
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    return isinstance(containers, list) and any(isinstance(each, Mapping) and "image" in each for each in containers)
