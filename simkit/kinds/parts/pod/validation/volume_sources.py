"""Validation of volume sources. The order of the table is the order in which sources are checked.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.pod.validation.paths import validate_local_descending_path, validate_no_backsteps
from simkit.kinds.parts.pod.validation.projected_volumes import (
    validate_config_map,
    validate_downward,
    validate_projected,
    validate_secret,
)
from simkit.meta.behaviour import applies
from simkit.meta.domain import API_DOMAIN, LABEL_DOMAIN
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, too_long, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object
from simkit.meta.quantity import parse

Check = Callable[[str, Object], Iterator[FieldError]]

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_LAST_PARTITION: Final = 255
_LONGEST_DRIVER: Final = 63
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_QUALIFIED_NAMES: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+(:[^,;*&$|\s]+)\Z"),
    "eui": re.compile(r"\Aeui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"\Anaa.[A-Za-z0-9]{32}\Z"),
}
_ANY_QUALIFIED: Final = "must be valid format starting with iqn, eui, or naa"
CHECKED_AT: Final = {"gcePersistentDisk": "persistentDisk"}
"""Volume types with another field name in kube-apiserver's errors."""
REFUSED_AT: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Volume types with another field name in the error of a second source."""


def needs(*names: str) -> Check:
    """A check that fields are not empty."""

    def check(path: str, source: Object) -> Iterator[FieldError]:
        return (required(f"{path}.{name}") for name in names if not source.get(name))

    return check


def _empty_dir(path: str, source: Object) -> Iterator[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and parse(str(limit)).nano < 0:
        yield forbidden_field(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def validate_host_path(path: str, source: Object) -> Iterator[FieldError]:
    """The errors of a path on the node."""
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from validate_no_backsteps(f"{path}.path", source["path"])
    if source.get("type") is not None and source["type"] not in _HOST_PATH_TYPES:
        yield unsupported(f"{path}.type", source["type"], _HOST_PATH_TYPES)


def _git_repo(path: str, source: Object) -> Iterator[FieldError]:
    yield from needs("repository")(path, source)
    yield from validate_local_descending_path(f"{path}.directory", source.get("directory") or "")


def _disk(name: str) -> Check:
    def check(path: str, source: Object) -> Iterator[FieldError]:
        yield from needs(name)(path, source)
        partition = source.get("partition") or 0
        if not 0 <= partition <= _LAST_PARTITION:
            yield invalid_value(f"{path}.partition", partition, f"must be between 1 and {_LAST_PARTITION}, inclusive")

    return check


def _nfs(path: str, source: Object) -> Iterator[FieldError]:
    yield from needs("server", "path")(path, source)
    if not (source.get("path") or "").startswith("/"):
        yield invalid_value(f"{path}.path", source.get("path") or "", "must be an absolute path")


def _iscsi(path: str, source: Object) -> Iterator[FieldError]:
    yield from needs("targetPortal")(path, source)
    yield from validate_iscsi(path, source, _ANY_QUALIFIED)


def validate_iscsi(path: str, source: Object, unknown: str, *, named: bool = False) -> Iterator[FieldError]:
    """The errors of an iSCSI volume apart from its portal.

    ``unknown`` is said of a name of no known form; ``named`` tells whether a secret must have a name.
    """
    if not source.get("iqn"):
        yield required(f"{path}.iqn")
    else:
        yield from _validate_qualified_name(f"{path}.iqn", source["iqn"], unknown)
    lun = source.get("lun") or 0
    if not 0 <= lun <= _LAST_PARTITION:
        yield invalid_value(f"{path}.lun", lun, "must be between 0 and 255, inclusive")
    asks_password = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if asks_password and source.get("secretRef") is None:
        yield required(f"{path}.secretRef")
    if named:
        yield from _named_secret(path, source)
    if source.get("initiatorName") is not None:
        yield from _validate_qualified_name(f"{path}.initiatorname", source["initiatorName"], unknown)


def _validate_qualified_name(path: str, name: str, unknown: str) -> Iterator[FieldError]:
    pattern = _QUALIFIED_NAMES.get(name[:3])
    if pattern is None:
        yield invalid_value(path, name, unknown)
    elif not pattern.search(name):
        yield invalid_value(path, name, "must be valid format")


def _flocker(path: str, source: Object) -> Iterator[FieldError]:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uid:
        yield invalid_value(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid_value(f"{path}.datasetName", name, "must not contain '/'")


def _named_secret(path: str, source: Object) -> Iterator[FieldError]:
    if source.get("secretRef") is not None and not source["secretRef"].get("name"):
        yield required(f"{path}.secretRef.name")


def _cinder(path: str, source: Object) -> Iterator[FieldError]:
    yield from needs("volumeID")(path, source)
    yield from _named_secret(path, source)


def _quobyte(path: str, source: Object) -> Iterator[FieldError]:
    rule = "must be a host:port pair or multiple pairs separated by commas"
    registry = source.get("registry") or ""
    if not registry:
        yield required(f"{path}.registry", rule)
    elif len(source.get("tenant") or "") >= 65:
        yield required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        pairs = registry.split(",")
        yield from (invalid_value(f"{path}.registry", registry, rule) for pair in pairs if pair.count(":") != 1)
    yield from needs("volume")(path, source)


def _fc(path: str, source: Object) -> Iterator[FieldError]:
    names, ids = source.get("targetWWNs") or (), source.get("wwids") or ()
    if not names and not ids:
        yield required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        yield invalid_value(f"{path}.targetWWNs", texts(names), text)
    if names and source.get("lun") is None:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif names and not 0 <= source["lun"] <= _LAST_PARTITION:
        yield invalid_value(f"{path}.lun", source["lun"], "must be between 0 and 255, inclusive")


def _flex(path: str, source: Object) -> Iterator[FieldError]:
    yield from needs("driver")(path, source)
    for key in sorted(source.get("options") or {}):
        owner = "." + key.partition("/")[0].lower()
        if owner.endswith((f".{LABEL_DOMAIN}", f".{API_DOMAIN}")):
            text = f"{LABEL_DOMAIN} and {API_DOMAIN} namespaces are reserved"
            yield invalid_value(f"{path}.options[{key}]", key, text)


def _azure_disk(path: str, source: Object) -> Iterator[FieldError]:
    yield from needs("diskName", "diskURI")(path, source)
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    if caching is not None and caching not in ("None", "ReadOnly", "ReadWrite"):
        yield unsupported(f"{path}.cachingMode", caching, ("None", "ReadOnly", "ReadWrite"))
    if kind is not None and kind not in ("Dedicated", "Managed", "Shared"):
        yield unsupported(f"{path}.kind", kind, ("Dedicated", "Managed", "Shared"))
    managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
    blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield unsupported(f"{path}.diskURI", uri, (managed,))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        yield unsupported(f"{path}.diskURI", uri, (blob,))


def _storage_os(path: str, source: Object) -> Iterator[FieldError]:
    name, namespace = source.get("volumeName") or "", source.get("volumeNamespace") or ""
    if not name:
        yield required(f"{path}.volumeName")
    else:
        yield from (invalid_value(f"{path}.volumeName", name, text) for text in dns_label(name))
    if namespace:
        yield from (invalid_value(f"{path}.volumeNamespace", namespace, text) for text in dns_label(namespace))
    yield from _named_secret(path, source)


def validate_driver(path: str, name: str) -> Iterator[FieldError]:
    """The errors of the name of a storage driver."""
    if not name:
        yield required(path)
        if applies("empty-driver-names-told-once"):
            return
    if len(name) > _LONGEST_DRIVER:
        yield too_long(path, _LONGEST_DRIVER)
    yield from (invalid_value(path, name, text) for text in dns_subdomain(name.lower()))


def _csi(path: str, source: Object) -> Iterator[FieldError]:
    yield from validate_driver(f"{path}.driver", source.get("driver") or "")
    reference = source.get("nodePublishSecretRef")
    if reference is None:
        return
    name = reference.get("name") or ""
    if not name:
        yield required(f"{path}.nodePublishSecretRef.name")
    else:
        yield from (invalid_value(f"{path}.name", name, text) for text in dns_subdomain(name))


def _image(path: str, source: Object) -> Iterator[FieldError]:
    policy = source.get("pullPolicy") or ""
    if not policy:
        yield required(f"{path}.pullPolicy")
    elif policy not in PULL_POLICIES:
        yield unsupported(f"{path}.pullPolicy", policy, PULL_POLICIES)


def _nothing(path: str, source: Object) -> Iterator[FieldError]:
    return iter(())


SOURCES: Final[Mapping[str, Check]] = {
    "emptyDir": _empty_dir,
    "hostPath": validate_host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "secret": validate_secret,
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": needs("claimName"),
    "rbd": needs("monitors", "image"),
    "cinder": _cinder,
    "cephfs": needs("monitors"),
    "quobyte": _quobyte,
    "downwardAPI": validate_downward,
    "fc": _fc,
    "flexVolume": _flex,
    "configMap": validate_config_map,
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "projected": validate_projected,
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _nothing,
    "image": _image,
}
"""Every volume type with its check; that of ``ephemeral`` depends on more than the source."""
