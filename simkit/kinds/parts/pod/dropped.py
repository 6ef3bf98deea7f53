"""Fields of pods that belong to features which are off in this release: they are taken away where they are new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.pod.defaults import each, replaced
from simkit.meta.objects import Object, at

_OF_SPEC: Final = ("hostUsers", "resourceClaims")
_OF_CONTAINER: Final = ("resizePolicy",)
_OF_TERM: Final = ("matchLabelKeys", "mismatchLabelKeys")
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def without(obj: Object, names: Iterable[str]) -> Object:
    """The object without some fields, the very same where it has none of them."""
    found = [name for name in names if name in obj]
    return {name: value for name, value in obj.items() if name not in found} if found else obj


def without_disabled(spec: Object, old: Object | None) -> Object:
    """A pod spec without the fields that this release does not know yet, unless they were there before."""
    known = old or {}
    found = without(spec, (name for name in _OF_SPEC if name not in known))
    for name in _LISTS:
        if name in found:
            before = _used(known.get(name) or ())
            found = replaced(found, name, partial(_containers, used=before))
    if "volumes" in found:
        found = replaced(found, "volumes", lambda items: each(items, _volume))
    return replaced(found, "affinity", _affinity) if "affinity" in found else found


def _used(containers: Sequence[Object]) -> frozenset[str]:
    """Which of the fields are in use already."""
    used = {name for one in containers for name in _OF_CONTAINER if name in one}
    used |= {"procMount" for one in containers if at(one, "securityContext", "procMount") is not None}
    used |= {"claims" for one in containers if at(one, "resources", "claims")}
    return frozenset(used)


def _containers(items: Sequence[Object], used: frozenset[str]) -> Sequence[Object]:
    return each(items, partial(_container, used=used))


def _container(container: Object, used: frozenset[str]) -> Object:
    found = without(container, (name for name in _OF_CONTAINER if name not in used))
    if "claims" not in used and "claims" in (found.get("resources") or {}):
        found = replaced(found, "resources", lambda resources: without(resources, ("claims",)))
    if "procMount" not in used and at(found, "securityContext", "procMount") is not None:
        found = replaced(found, "securityContext", _plain_proc)
    if "volumeMounts" in found:
        found = replaced(found, "volumeMounts", lambda items: each(items, _mount))
    return found


def _plain_proc(context: Object) -> Object:
    return context if context.get("procMount") == "Default" else {**context, "procMount": "Default"}


def _mount(mount: Object) -> Object:
    return without(mount, ("recursiveReadOnly",))


def _volume(volume: Object) -> Object:
    found = volume
    if "projected" in volume:
        found = replaced(found, "projected", _projected)
    template = at(volume, "ephemeral", "volumeClaimTemplate", "spec")
    if template is not None and "volumeAttributesClassName" in template:
        claim = volume["ephemeral"]["volumeClaimTemplate"]
        plain = {**claim, "spec": without(template, ("volumeAttributesClassName",))}
        found = {**found, "ephemeral": {**volume["ephemeral"], "volumeClaimTemplate": plain}}
    return found


def _projected(source: Object) -> Object:
    return replaced(source, "sources", lambda parts: each(parts, lambda one: without(one, ("clusterTrustBundle",))))


def _affinity(affinity: Object) -> Object:
    for name in _AFFINITIES:
        affinity = replaced(affinity, name, _pod_affinity)
    return affinity


def _pod_affinity(affinity: Object) -> Object:
    found = replaced(affinity, _REQUIRED, lambda terms: each(terms, _term))
    return replaced(found, _PREFERRED, lambda terms: each(terms, _weighted))


def _weighted(term: Any) -> Any:
    return replaced(term, "podAffinityTerm", _term)


def _term(term: Object) -> Object:
    return without(term, _OF_TERM)
