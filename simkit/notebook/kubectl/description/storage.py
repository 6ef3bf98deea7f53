"""Volumes, claims and storage classes as kubectl describes them.

Upstream: k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.domain import label
from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import annotation_lines, label_lines, yes_or_no
from simkit.notebook.kubectl.description.volumes import source_lines

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_NO_SOURCES: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)
"""The fields of a volume beside its source."""


def volume_lines(client: Client, obj: Object) -> Iterator[str]:
    """A volume with its claim and its source."""
    spec, status = obj["spec"], obj.get("status") or {}
    claim = spec.get("claimRef")
    yield f"Name:\t{obj['metadata']['name']}"
    yield from _marks(obj)
    yield f"StorageClass:\t{spec.get('storageClassName', '')}"
    yield f"Status:\t{'Terminating' if obj['metadata'].get('deletionTimestamp') else status.get('phase', '')}"
    yield f"Claim:\t{claim['namespace']}/{claim['name']}" if claim else "Claim:\t"
    yield f"Reclaim Policy:\t{spec.get('persistentVolumeReclaimPolicy', '')}"
    yield f"Access Modes:\t{_modes(spec)}"
    if spec.get("volumeMode"):
        yield f"VolumeMode:\t{spec['volumeMode']}"
    yield f"Capacity:\t{at(spec, 'capacity', 'storage') or ''}"
    yield from _affinity(spec)
    yield f"Message:\t{status.get('message', '')}"
    yield "Source:"
    yield from source_lines({name: value for name, value in spec.items() if name not in _NO_SOURCES})
    yield from event_lines(client, events_of(client, obj, kind="PersistentVolume"))


def _marks(obj: Object) -> Iterator[str]:
    """Labels, annotations and finalizers."""
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"Finalizers:\t[{' '.join(obj['metadata'].get('finalizers') or ())}]"


def _modes(part: Mapping[str, Any]) -> str:
    return ",".join(_MODES[mode] for mode in _MODES if mode in (part.get("accessModes") or ()))


def _affinity(spec: Mapping[str, Any]) -> Iterator[str]:
    """The terms of the nodes that reach a volume."""
    required = at(spec, "nodeAffinity", "required")
    yield "Node Affinity:\t" if required else "Node Affinity:\t<none>"
    if required is None:
        return
    terms = required.get("nodeSelectorTerms") or ()
    yield "  Required Terms:\t" if terms else "  Required Terms:\t<none>"
    for number, term in enumerate(terms):
        shown = [
            f"{each['key']} {each['operator'].lower()} [{', '.join(each.get('values') or ())}]"
            for each in term.get("matchExpressions") or ()
        ]
        for place, text in enumerate(shown or ["<none>"]):
            yield f"    Term {number}:\t{text}" if not place else f"\t{text}"


def claim_lines(client: Client, obj: Object) -> Iterator[str]:
    """A claim with its volume and the pods that use it."""
    data, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
    bound = bool(spec.get("volumeName"))
    yield f"Name:\t{data['name']}"
    yield f"Namespace:\t{data['namespace']}"
    yield f"StorageClass:\t{spec.get('storageClassName', '')}"
    yield f"Status:\t{'Terminating' if data.get('deletionTimestamp') else status.get('phase', '')}"
    yield f"Volume:\t{spec.get('volumeName', '')}"
    yield from _marks(obj)
    yield f"Capacity:\t{(at(status, 'capacity', 'storage') or '') if bound else ''}"
    yield f"Access Modes:\t{_modes(status) if bound else ''}"
    if spec.get("volumeMode"):
        yield f"VolumeMode:\t{spec['volumeMode']}"
    pods = client.ask("GET", client.path(client.resource("pods"), data["namespace"])).object["items"]
    names = [pod["metadata"]["name"] for pod in pods if data["name"] in _claims(pod)]
    for place, name in enumerate(names or ["<none>"]):
        yield f"{'' if place else 'Used By:'}\t{name}"
    yield from event_lines(client, events_of(client, obj, kind="PersistentVolumeClaim"))


def _claims(pod: Object) -> list[str]:
    """The names of the claims that a pod mounts."""
    return [at(each, "persistentVolumeClaim", "claimName") or "" for each in pod["spec"].get("volumes") or ()]


def storage_class_lines(client: Client, obj: Object) -> Iterator[str]:
    """A storage class."""
    annotations = obj["metadata"].get("annotations") or {}
    default = annotations.get(label("is-default-class", "storageclass")) == "true"
    expands = obj.get("allowVolumeExpansion")
    yield f"Name:\t{obj['metadata']['name']}"
    yield f"IsDefaultClass:\t{'Yes' if default else 'No'}"
    yield f"Annotations:\t{_pairs(annotations)}"
    yield f"Provisioner:\t{obj['provisioner']}"
    yield f"Parameters:\t{_pairs(obj.get('parameters'))}"
    yield f"AllowVolumeExpansion:\t{'<unset>' if expands is None else yes_or_no(expands).capitalize()}"
    yield "MountOptions:" if obj.get("mountOptions") else "MountOptions:\t<none>"
    yield from (f"  {each}" for each in obj.get("mountOptions") or ())
    if obj.get("reclaimPolicy"):
        yield f"ReclaimPolicy:\t{obj['reclaimPolicy']}"
    if obj.get("volumeBindingMode"):
        yield f"VolumeBindingMode:\t{obj['volumeBindingMode']}"
    yield from event_lines(client, events_of(client, obj, kind="StorageClass"))


def _pairs(pairs: Mapping[str, str] | None) -> str:
    return ",".join(f"{name}={text}" for name, text in sorted((pairs or {}).items())) or "<none>"


def priority_class_lines(client: Client, obj: Object) -> Iterator[str]:
    """A priority class."""
    yield f"Name:\t{obj['metadata']['name']}"
    yield f"Value:\t{obj['value']}"
    yield f"GlobalDefault:\t{yes_or_no(obj.get('globalDefault'))}"
    yield f"PreemptionPolicy:\t{obj.get('preemptionPolicy', '')}"
    yield f"Description:\t{obj.get('description', '')}"
    yield f"Annotations:\t{_pairs(obj['metadata'].get('annotations'))}"
    yield from event_lines(client, events_of(client, obj, kind="PriorityClass"))
