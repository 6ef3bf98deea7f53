"""The text of a pod template for its hash: the Go struct as spew prints it, with all types and all empty fields.

The tables know fields, numbers and most types of a structure. What they do not know stands here: fields that come
earlier in the structure than their number says, and names that differ from those in JSON in more than a capital.

DeepHashObject in pkg/util/hash/hash.go, release 1.30, which prints with github.com/davecgh/go-spew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.domain import API_DOMAIN
from simkit.meta.objects import Object

if TYPE_CHECKING:
    from simkit.schema.binary.messages import Field

_RELEASE: Final = "1.30"
_TEMPLATE: Final = f"{API_DOMAIN}.api.core.v1.PodTemplateSpec"
_DEFINED: Final = ".".join(reversed(API_DOMAIN.split(".")))
"""The prefix of definitions' names, and that of messages."""
_AFTER: Final[Mapping[str, Mapping[str, str]]] = {
    "PodSpec": {
        "initContainers": "volumes",
        "ephemeralContainers": "containers",
        "automountServiceAccountToken": "serviceAccount",
        "shareProcessNamespace": "hostIPC",
    },
    "Container": {
        "envFrom": "ports",
        "resizePolicy": "resources",
        "restartPolicy": "resizePolicy",
        "volumeDevices": "volumeMounts",
        "startupProbe": "readinessProbe",
        "terminationMessagePolicy": "terminationMessagePath",
    },
    "VolumeMount": {"recursiveReadOnly": "readOnly"},
    "SecurityContext": {"windowsOptions": "seLinuxOptions", "runAsGroup": "runAsUser"},
    "PodSecurityContext": {"windowsOptions": "seLinuxOptions", "runAsGroup": "runAsUser"},
    "PersistentVolumeClaimSpec": {"selector": "accessModes"},
    "VolumeSource": {"projected": "photonPersistentDisk"},
    "ISCSIVolumeSource": {"chapAuthSession": "chapAuthDiscovery"},
}
"""Fields with the fields that they follow, if that is not the order of their numbers."""
_NAMES: Final[Mapping[str, str]] = {
    "apiVersion": "APIVersion",
    "awsElasticBlockStore": "AWSElasticBlockStore",
    "cephfs": "CephFS",
    "chapAuthDiscovery": "DiscoveryCHAPAuth",
    "chapAuthSession": "SessionCHAPAuth",
    "csi": "CSI",
    "diskURI": "DataDiskURI",
    "dnsConfig": "DNSConfig",
    "dnsPolicy": "DNSPolicy",
    "fc": "FC",
    "fsGroup": "FSGroup",
    "fsGroupChangePolicy": "FSGroupChangePolicy",
    "fsType": "FSType",
    "gcePersistentDisk": "GCEPersistentDisk",
    "gmsaCredentialSpec": "GMSACredentialSpec",
    "gmsaCredentialSpecName": "GMSACredentialSpecName",
    "grpc": "GRPC",
    "httpGet": "HTTPGet",
    "httpHeaders": "HTTPHeaders",
    "ip": "IP",
    "iqn": "IQN",
    "iscsi": "ISCSI",
    "iscsiInterface": "ISCSIInterface",
    "metadata": "ObjectMeta",
    "nfs": "NFS",
    "os": "OS",
    "pdName": "PDName",
    "rbd": "RBD",
    "seLinuxOptions": "SELinuxOptions",
    "serviceAccount": "DeprecatedServiceAccount",
    "sslEnabled": "SSLEnabled",
    "storageos": "StorageOS",
    "tcpSocket": "TCPSocket",
    "tty": "TTY",
    "uid": "UID",
    "wwids": "WWIDs",
    "GlusterfsVolumeSource.endpoints": "EndpointsName",
    "RBDVolumeSource.image": "RBDImage",
    "RBDVolumeSource.monitors": "CephMonitors",
    "RBDVolumeSource.pool": "RBDPool",
    "RBDVolumeSource.user": "RadosUser",
}
_TYPES: Final[Mapping[str, str]] = {
    "AzureDiskVolumeSource.cachingMode": "v1.AzureDataDiskCachingMode",
    "AzureDiskVolumeSource.kind": "v1.AzureDataDiskKind",
    "PodReadinessGate.conditionType": "v1.PodConditionType",
    "TopologySpreadConstraint.nodeAffinityPolicy": "v1.NodeInclusionPolicy",
    "TopologySpreadConstraint.nodeTaintsPolicy": "v1.NodeInclusionPolicy",
    "VolumeMount.recursiveReadOnly": "v1.RecursiveReadOnlyMode",
}
"""String types that the schemas do not name."""
_OTHERS: Final = {"Quantity": "resource.Quantity", "IntOrString": "intstr.IntOrString"}
_NO_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"


def template_text(template: Object) -> str:
    """The text of a pod template in its stored form.

    Notes
    -----
    As of release 1.30, whatever release is served. Sizes of 10**15 bytes and more, which only templates of claims
    have, are not printed as Go prints them.
    """
    return f"(v1.PodTemplateSpec){_struct(template, _TEMPLATE)}"


@cache
def _fields(message: str) -> Sequence[tuple[Field, str, str]]:
    """The fields of a struct in declaration order, each with its name and the type of one value."""
    from simkit.schema.binary.messages import fields
    from simkit.schema.definitions import definitions

    short = message.rpartition(".")[2]
    rows = definitions(_RELEASE).rows.get(f"{_DEFINED}{message.removeprefix(API_DOMAIN)}", {}).get("fields", {})
    ordered: list[Field] = []
    moved = _AFTER.get(short, {})
    by_name = {field.json_name: field for field in fields(message, _RELEASE)}
    for name, field in by_name.items():
        if name not in moved:
            ordered.append(field)
    for name, before in moved.items():
        place = next(index for index, field in enumerate(ordered) if field.json_name == before)
        ordered.insert(place + 1, by_name[name])
    return tuple((field, _name(short, field), _type(short, field, rows)) for field in ordered)


def _name(message: str, field: Field) -> str:
    if field.inline:
        return field.type.rpartition(".")[2]
    name = field.json_name
    return _NAMES.get(f"{message}.{name}") or _NAMES.get(name) or name[:1].upper() + name[1:]


def _type(message: str, field: Field, rows: Mapping[str, Any]) -> str:
    if field.key:
        return "v1.ResourceList" if field.type.endswith(".Quantity") else f"map[{field.key}]{field.type}"
    if not field.scalar:
        short = field.type.rpartition(".")[2]
        return _OTHERS.get(short, f"v1.{short}")
    row = rows.get(field.json_name, {})
    known: str = row.get("goType") or row.get("items", {}).get("goType") or field.type
    return _TYPES.get(f"{message}.{field.json_name}", known)


def _struct(value: Object, message: str) -> str:
    return f"{{{' '.join(_field(value, *each) for each in _fields(message))}}}"


def _field(holder: Object, field: Field, name: str, kind: str) -> str:
    if field.inline:
        return f"{name}:({kind}){_struct(holder, field.type)}"
    value = holder.get(field.json_name)
    if field.key:
        entries = value or {}
        pairs = [f"{key}:{_plain(entries[key], field.type)}" for key in sorted(entries)]
        return f"{name}:({kind})" + (f"map[{' '.join(pairs)}]" if pairs else "<nil>")
    if field.repeated:
        items = [_plain(each, field.type) for each in value or ()]
        return f"{name}:([]{kind})" + (f"[{' '.join(items)}]" if items else "<nil>")
    if field.pointer:
        return f"{name}:(*{kind}){'<nil>' if value is None else _plain(value, field.type)}"
    return f"{name}:({kind}){_plain(value, field.type)}"


def _plain(value: Any, kind: str) -> str:
    """A value without its type."""
    if kind == "string":
        return value or ""
    if kind == "bool":
        return "true" if value else "false"
    if kind in ("int32", "int64"):
        return str(value or 0)
    short = kind.rpartition(".")[2]
    if short == "Time":
        return _NO_TIME
    if short == "Quantity":
        return _quantity(value)
    if short == "IntOrString":
        number, text = (0, value) if isinstance(value, str) else (value or 0, "")
        return f"{{Type:(intstr.Type){int(isinstance(value, str))} IntVal:(int32){number} StrVal:(string){text}}}"
    return _struct(value or {}, kind)


_PARTS: Final = re.compile(r"(-?\d+)(?:([KMGTPE])i|([numkMGTPE])|e(-?\d+))?")
_SCALES: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def _quantity(text: str | None) -> str:
    """A quantity in canonical form, as parsed: for a multiple of eight with a binary suffix, the text is not cached."""
    found = _PARTS.fullmatch(text or "")
    if text is None or found is None or text == "0":
        return _amount(0, 0, text or "", "")
    number, (binary, decimal, exponent) = int(found[1]), found.groups()[1:]
    if binary:
        shifted = number << 10 * ("KMGTPE".index(binary) + 1)
        return _amount(shifted, 0, text if number % 8 else "", "BinarySI")
    if exponent:
        return _amount(number, int(exponent), text, "DecimalExponent")
    return _amount(number, _SCALES.get(decimal or "", 0), text, "DecimalSI")


def _amount(value: int, scale: int, text: str, family: str) -> str:
    number = f"i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}}"
    exact = "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>}"
    return f"{{{number} {exact} s:(string){text} Format:(resource.Format){family}}}"
