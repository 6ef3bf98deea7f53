"""The pod that a command means: a pod by its name, or one of a workload's.

Upstream: ``AttachablePodForObjectFn`` in k8s.io/kubectl/pkg/polymorphichelpers, and ``podcmd``, release 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.meta.domain import label
from simkit.meta.objects import Object, annotations_of, at
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.selection import selected

_DEFAULT: Final = label("default-container", "kubectl")


def pods_of(client: Client, word: str) -> Sequence[Object]:
    """The pod ``NAME`` or ``pod/NAME``, or those of ``TYPE/NAME``, the one that has been ready for longest first.

    Raises KubectlError for a name that is not there, and for a kind that selects no pods.
    """
    [one] = selected(client, [word if "/" in word else f"pods/{word}"])
    obj = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
    if obj["kind"] == "Pod":
        return [obj]
    labels = at(obj, "spec", "selector", "matchLabels") or (
        at(obj, "spec", "selector") if obj["kind"] == "Service" else None
    )
    if not labels:
        kind = f"*v1.{obj['kind']}"
        raise KubectlError(f"error: cannot attach to {kind}: selector for {kind} not implemented")
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    found: list[Object] = client.ask("GET", client.path(client.resource("pods"), client.namespace), query=query).object[
        "items"
    ]
    if not found:
        raise KubectlError("error: timed out waiting for the condition")
    return sorted(found, key=_order)


def _order(pod: Object) -> tuple[bool, bool, bool, str, str]:
    """The place of a pod: those on a node, that run, are ready, and have been so for longest, come first."""
    conditions = at(pod, "status", "conditions") or ()
    ready: Mapping[str, Any] = next(
        (each for each in conditions if each["type"] == "Ready" and each["status"] == "True"), {}
    )
    phase, made = at(pod, "status", "phase"), str(at(pod, "metadata", "creationTimestamp"))
    since = str(ready.get("lastTransitionTime", ""))
    return not at(pod, "spec", "nodeName"), phase != "Running", not ready, since, made


def container_of(pod: Object, asked: str) -> tuple[str, str]:
    """The container that is meant, and what kubectl says if it chose one of several."""
    regular: Sequence[Mapping[str, Any]] = at(pod, "spec", "containers") or ()
    if asked:
        return asked, ""  # the server knows its containers
    preferred = annotations_of(pod).get(_DEFAULT, "")
    if any(each["name"] == preferred for each in regular):
        return preferred, ""
    name = str(regular[0]["name"])
    told = f'Defaulted container "{name}" out of: {_all_names(pod)}\n' if len(_containers(pod)) > 1 else ""
    return name, told


def has_container(pod: Object, name: str) -> bool:
    """True if a pod has a container of this name."""
    return any(each["name"] == name for each in _containers(pod))


def _containers(pod: Object) -> list[Mapping[str, Any]]:
    return [
        each
        for field in ("containers", "ephemeralContainers", "initContainers")
        for each in at(pod, "spec", field) or ()
    ]


def _all_names(pod: Object) -> str:
    marks = {"containers": "", "ephemeralContainers": " (ephem)", "initContainers": " (init)"}
    return ", ".join(f"{each['name']}{mark}" for field, mark in marks.items() for each in at(pod, "spec", field) or ())
