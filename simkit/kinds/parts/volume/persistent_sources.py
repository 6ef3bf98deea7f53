"""Validation of the sources of persistent volumes.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.kinds.parts.pod.validation.paths import validate_no_backsteps
from simkit.kinds.parts.pod.validation.volume_sources import SOURCES as OF_PODS
from simkit.kinds.parts.pod.validation.volume_sources import needs, validate_driver, validate_iscsi
from simkit.kinds.parts.validation.fields import validate_text
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object

Check = Callable[[str, Object], Iterator[FieldError]]

_SECRETS: Final = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _local(path: str, source: Object) -> Iterator[FieldError]:
    if not source.get("path"):
        yield required(f"{path}.path")
    else:
        yield from validate_no_backsteps(f"{path}.path", source["path"])


def _csi(path: str, source: Object) -> Iterator[FieldError]:
    yield from validate_driver(f"{path}.driver", source.get("driver") or "")
    if not source.get("volumeHandle"):
        yield required(f"{path}.volumeHandle")
    for name in _SECRETS:
        reference = source.get(name)
        if reference is not None:
            yield from _validate_reference(f"{path}.{name}", reference)


def _validate_reference(path: str, reference: Object) -> Iterator[FieldError]:
    name_rule = dns_subdomain if applies("long-secret-names-in-volumes") else dns_label
    for part, rule in (("name", name_rule), ("namespace", dns_label)):
        if not reference.get(part):
            yield required(f"{path}.{part}")
        else:
            yield from validate_text(f"{path}.{part}", reference[part], rule)


def _with_namespace(name: str) -> Check:
    """The check of pods, with a required namespace of the secret."""

    def check(path: str, source: Object) -> Iterator[FieldError]:
        yield from OF_PODS[name](path, source)
        reference = source.get("secretRef")
        if reference is not None and not reference.get("namespace"):
            yield required(f"{path}.secretRef.namespace")

    return check


def _glusterfs(path: str, source: Object) -> Iterator[FieldError]:
    yield from OF_PODS["glusterfs"](path, source)
    namespace, at = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace == "":
        yield invalid_value(at, "", "if the endpointnamespace is set, it must be a valid namespace name")
    elif namespace is not None:
        yield from validate_text(at, namespace, dns_label)


def _azure_file(path: str, source: Object) -> Iterator[FieldError]:
    yield from OF_PODS["azureFile"](path, source)
    if source.get("secretNamespace") == "":
        yield required(f"{path}.secretNamespace")


def _iscsi(path: str, source: Object) -> Iterator[FieldError]:
    yield from needs("targetPortal")(path, source)
    yield from validate_iscsi(path, source, "must be valid format", named=True)


_ORDER: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
_OWN: Final[Mapping[str, Check]] = {
    "local": _local,
    "csi": _csi,
    "glusterfs": _glusterfs,
    "azureFile": _azure_file,
    "iscsi": _iscsi,
    **{name: _with_namespace(name) for name in ("cinder", "storageos")},
}

SOURCES: Final[Mapping[str, Check]] = {name: _OWN.get(name) or OF_PODS[name] for name in _ORDER}
"""Every type with its check, in the order of the checks."""
