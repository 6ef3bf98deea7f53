"""Missing config maps and secrets, which keep a container from being configured.

Upstream: pkg/kubelet/kubelet_pods.go (``makeEnvironmentVariables``) and pkg/volume/{configmap,secret}, release 1.30.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from simkit.engine.controllers.lister import Lister
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of

_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_SECRETS: Final = GroupResource("", "secrets")
REFERENCES: Final = frozenset((_CONFIG_MAPS, _SECRETS))
"""The resources that pods refer to."""


def missing_volume(pod: Object, lister: Lister, unknown: Collection[GroupResource] = ()) -> str:
    """The reason why a volume of a pod cannot be mounted; empty if all can. Nothing of ``unknown`` resources counts."""
    for volume in at(pod, "spec", "volumes") or ():
        for resource, name, optional in _sources(volume):
            if (
                not optional
                and name
                and resource not in unknown
                and lister.get(Key(resource, namespace_of(pod), name)) is None
            ):
                kind = resource.resource.removesuffix("s")
                return f'MountVolume.SetUp failed for volume "{volume.get("name")}" : {kind} "{name}" not found'
    return ""


def _sources(volume: Mapping[str, Any]) -> Iterator[tuple[GroupResource, str, bool]]:
    plain = volume.get("configMap"), volume.get("secret")
    if plain[0]:
        yield _CONFIG_MAPS, plain[0].get("name", ""), bool(plain[0].get("optional"))
    if plain[1]:
        yield _SECRETS, plain[1].get("secretName", ""), bool(plain[1].get("optional"))
    for source in at(volume, "projected", "sources") or ():
        for field, resource in (("configMap", _CONFIG_MAPS), ("secret", _SECRETS)):
            if source.get(field):
                yield resource, source[field].get("name", ""), bool(source[field].get("optional"))


def missing_pull_secrets(pod: Object, lister: Lister, unknown: Collection[GroupResource] = ()) -> str:
    """The warning about secrets for pulling that are not there; empty if all are. Images are pulled without them."""
    names = [each.get("name", "") for each in at(pod, "spec", "imagePullSecrets") or ()]
    if _SECRETS in unknown:
        return ""
    missing = [name for name in names if lister.get(Key(_SECRETS, namespace_of(pod), name)) is None]
    if not missing:
        return ""
    told = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
    return f"{told}; attempting to pull the image may not succeed."


def missing_reference(
    pod: Object, container: Mapping[str, Any], lister: Lister, unknown: Collection[GroupResource] = ()
) -> str:
    """The reason why the environment of a container cannot be made; empty if it can.

    Nothing of ``unknown`` resources counts.
    """
    for field, resource in (("configMapRef", _CONFIG_MAPS), ("secretRef", _SECRETS)):
        for source in container.get("envFrom") or ():
            reference = source.get(field) if resource not in unknown else None
            if reference and not reference.get("optional") and _found(pod, reference, resource, lister) is None:
                return f'{resource.resource.removesuffix("s")} "{reference.get("name")}" not found'
    for field, resource in (("configMapKeyRef", _CONFIG_MAPS), ("secretKeyRef", _SECRETS)):
        for variable in container.get("env") or ():
            reference = at(variable, "valueFrom", field)
            if not reference or reference.get("optional") or resource in unknown:
                continue
            kind, found = resource.resource.removesuffix("s"), _found(pod, reference, resource, lister)
            if found is None:
                return f'{kind} "{reference.get("name")}" not found'
            if reference.get("key") not in {**(found.get("data") or {}), **(found.get("binaryData") or {})}:
                shown = "ConfigMap" if resource == _CONFIG_MAPS else "Secret"
                return f"couldn't find key {reference.get('key')} in {shown} {namespace_of(pod)}/{name_of(found)}"
    return ""


def _found(pod: Object, reference: Mapping[str, Any], resource: GroupResource, lister: Lister) -> Object | None:
    return lister.get(Key(resource, namespace_of(pod), reference.get("name", "")))
