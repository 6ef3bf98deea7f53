"""Images that pods run, Secrets that they read, and what they do beyond a pod security level, in a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simkit.analysis.upgrade.behaviour.pod_templates import pod_templates
from simkit.logic.podsecurity.evaluate import violations
from simkit.logic.podsecurity.policy import LevelVersion
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object, at, name_of
from simkit.meta.podspec import containers_of
from simkit.snapshot.withhold import is_secret


def images_of(obj: Object | None) -> frozenset[str]:
    """The images in the pod templates of an object; of none where there is no object."""
    return frozenset(str(one["image"]) for spec in _specs(obj) for one in containers_of(spec) if one.get("image"))


def secrets_of(obj: Object | None) -> frozenset[str]:
    """The names of the Secrets that the pods of an object read, or that an object is."""
    own = {name_of(obj)} if obj is not None and is_secret(obj) else set()
    return frozenset(own.union(*(_secrets(spec) for spec in _specs(obj))))


def breaches_of(obj: Object | None, behaviour: ServedBehaviour) -> frozenset[str]:
    """What the pods of an object do that the pod security level baseline forbids, such as running privileged."""
    baseline = LevelVersion("baseline")
    templates = () if obj is None else pod_templates(obj, b"")
    return frozenset(
        str(violation)
        for _, template in templates
        for violation in violations(baseline, template.get("metadata") or {}, template.get("spec") or {}, behaviour)
    )


def _specs(obj: Object | None) -> Iterator[Mapping[str, Any]]:
    if obj is not None:
        for _, template in pod_templates(obj, b""):
            spec = template.get("spec")
            if isinstance(spec, Mapping):
                yield spec


def _secrets(spec: Mapping[str, Any]) -> Iterator[str]:
    """The Secrets of volumes, environments and image pulls."""
    for volume in spec.get("volumes") or ():
        yield from _named(at(volume, "secret", "secretName"))
        for source in at(volume, "projected", "sources") or ():
            yield from _named(at(source, "secret", "name"))
    for container in containers_of(spec):
        for source in container.get("envFrom") or ():
            yield from _named(at(source, "secretRef", "name"))
        for variable in container.get("env") or ():
            yield from _named(at(variable, "valueFrom", "secretKeyRef", "name"))
    for one in spec.get("imagePullSecrets") or ():
        yield from _named(one.get("name"))


def _named(name: object) -> Iterator[str]:
    if isinstance(name, str) and name:
        yield name
