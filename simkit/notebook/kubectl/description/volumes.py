"""Volumes as kubectl describes them.

Upstream: describeVolumes in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.quantity import parse
from simkit.notebook.kubectl.description.parts import yes_or_no

_SIMPLE: Final[Mapping[str, tuple[str, tuple[tuple[str, str, Any], ...]]]] = {
    "hostPath": (
        "HostPath (bare host directory volume)",
        (("Path", "path", ""), ("HostPathType", "type", "<none>")),
    ),
    "secret": (
        "Secret (a volume populated by a Secret)",
        (("SecretName", "secretName", ""), ("Optional", "optional", False)),
    ),
    "configMap": (
        "ConfigMap (a volume populated by a ConfigMap)",
        (("Name", "name", ""), ("Optional", "optional", False)),
    ),
    "nfs": (
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        (("Server", "server", ""), ("Path", "path", ""), ("ReadOnly", "readOnly", False)),
    ),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        (("ClaimName", "claimName", ""), ("ReadOnly", "readOnly", False)),
    ),
    "image": (
        "Image (a container image or OCI artifact)",
        (("Reference", "reference", ""), ("PullPolicy", "pullPolicy", "")),
    ),
}
"""Title and lines of each source: the word, the field and what is shown without it."""


def volume_lines(volumes: Sequence[Mapping[str, Any]] | None, space: str = "") -> Iterator[str]:
    """Volumes with their sources."""
    if not volumes:
        yield f"{space}Volumes:\t<none>"
        return
    yield f"{space}Volumes:"
    for each in volumes:
        yield f"  {' ' if space else ''}{each['name']}:"
        yield from source_lines(each)


def source_lines(volume: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the source of a volume."""
    nothing: tuple[str, Mapping[str, Any]] = ("", {})
    name, source = next(((name, value) for name, value in volume.items() if name != "name"), nothing)
    if name in _SIMPLE:
        title, fields = _SIMPLE[name]
        yield f"    Type:\t{title}"
        for word, field, absent in fields:
            value = source.get(field, absent)
            yield f"    {word}:\t{yes_or_no(value) if isinstance(value, bool) else value}"
    elif name == "emptyDir":
        limit = parse(str(source.get("sizeLimit") or "0"))
        yield "    Type:\tEmptyDir (a temporary directory that shares a pod's lifetime)"
        yield f"    Medium:\t{source.get('medium', '')}"
        yield f"    SizeLimit:\t{limit if limit.nano > 0 else '<unset>'}"
    elif name == "projected":
        yield "    Type:\tProjected (a volume that contains injected data from multiple sources)"
        for each in source.get("sources") or ():
            yield from _projected(each)
    elif name == "downwardAPI":
        yield "    Type:\tDownwardAPI (a volume populated by information about the pod)"
        yield "    Items:"
        for each in source.get("items") or ():
            field, resource = each.get("fieldRef"), each.get("resourceFieldRef")
            yield f"      {field['fieldPath'] if field else resource['resource']} -> {each['path']}"
    elif name == "csi":
        yield from _csi(source)
    else:
        yield "  <unknown>"


def _projected(source: Mapping[str, Any]) -> Iterator[str]:
    if source.get("secret") is not None:
        yield f"    SecretName:\t{source['secret'].get('name', '')}"
        yield f"    Optional:\t{yes_or_no(source['secret'].get('optional'))}"
        return
    if source.get("configMap") is not None:
        optional = source["configMap"].get("optional")
        yield f"    ConfigMapName:\t{source['configMap'].get('name', '')}"
        yield f"    ConfigMapOptional:\t{'<nil>' if optional is None else yes_or_no(optional)}"
        return
    if source.get("downwardAPI") is not None:
        yield "    DownwardAPI:\ttrue"
    elif source.get("serviceAccountToken") is not None:
        yield f"    TokenExpirationSeconds:\t{source['serviceAccountToken'].get('expirationSeconds', 3600)}"


def _csi(source: Mapping[str, Any]) -> Iterator[str]:
    yield "    Type:\tCSI (a Container Storage Interface (CSI) volume source)"
    yield f"    Driver:\t{source.get('driver', '')}"
    yield f"    FSType:\t{source.get('fsType') or ''}"
    yield f"    ReadOnly:\t{yes_or_no(source.get('readOnly'))}"
    attributes = sorted((source.get("volumeAttributes") or {}).items())
    if not attributes:
        yield "    VolumeAttributes:\t<none>"
    for number, (key, value) in enumerate(attributes):
        yield f"{'        ' if number else '    VolumeAttributes:'}\t    {f'{key}={value}'}"
