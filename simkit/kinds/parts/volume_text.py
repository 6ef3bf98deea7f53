"""The difference between two sources of a volume as a refusal shows it: fields that changed, with two around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from simkit.kinds.parts.changed_fields import shown_fields
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object

_TYPES: Final = (
    ("GCEPersistentDisk", "gcePersistentDisk", "GCEPersistentDiskVolumeSource"),
    ("AWSElasticBlockStore", "awsElasticBlockStore", "AWSElasticBlockStoreVolumeSource"),
    ("HostPath", "hostPath", "HostPathVolumeSource"),
    ("Glusterfs", "glusterfs", "GlusterfsPersistentVolumeSource"),
    ("NFS", "nfs", "NFSVolumeSource"),
    ("RBD", "rbd", "RBDPersistentVolumeSource"),
    ("Quobyte", "quobyte", "QuobyteVolumeSource"),
    ("ISCSI", "iscsi", "ISCSIPersistentVolumeSource"),
    ("FlexVolume", "flexVolume", "FlexPersistentVolumeSource"),
    ("Cinder", "cinder", "CinderPersistentVolumeSource"),
    ("CephFS", "cephfs", "CephFSPersistentVolumeSource"),
    ("FC", "fc", "FCVolumeSource"),
    ("Flocker", "flocker", "FlockerVolumeSource"),
    ("AzureFile", "azureFile", "AzureFilePersistentVolumeSource"),
    ("VsphereVolume", "vsphereVolume", "VsphereVirtualDiskVolumeSource"),
    ("AzureDisk", "azureDisk", "AzureDiskVolumeSource"),
    ("PhotonPersistentDisk", "photonPersistentDisk", "PhotonPersistentDiskVolumeSource"),
    ("PortworxVolume", "portworxVolume", "PortworxVolumeSource"),
    ("ScaleIO", "scaleIO", "ScaleIOPersistentVolumeSource"),
    ("Local", "local", "LocalVolumeSource"),
    ("StorageOS", "storageos", "StorageOSPersistentVolumeSource"),
    ("CSI", "csi", "CSIPersistentVolumeSource"),
)
"""The fields of the structure in its order: name, key and the structure that each points to."""
_EMPTY: Final[Mapping[str, Mapping[str, str]]] = {
    "hostPath": {"path": '""', "type": "nil"},
    "nfs": {"server": '""', "path": '""', "readOnly": "false"},
    "local": {"path": '""', "fsType": "nil"},
    "csi": {
        "driver": '""',
        "volumeHandle": '""',
        "readOnly": "false",
        "fsType": '""',
        "volumeAttributes": "nil",
        "controllerPublishSecretRef": "nil",
        "nodeStageSecretRef": "nil",
        "nodePublishSecretRef": "nil",
        "controllerExpandSecretRef": "nil",
        "nodeExpandSecretRef": "nil",
    },
}
"""What the fields of the most used types show where nothing is in them, in the order of their structures."""
_GO_NAMES: Final = {"fsType": "FSType"}
_MAP: Final = "volumeAttributes"
Row = tuple[str, str, str, list[str]]
"""A field: its name, how it was, how it is now, and the lines that show it in full where both are there."""


def source_difference(old: Object, new: Object) -> str:
    """The changed fields with two unchanged ones on either side; longer gaps are counted."""
    rows = [_row(name, kind, key, old.get(key), new.get(key)) for name, key, kind in _TYPES]
    return "\n".join(["  core.PersistentVolumeSource{", *_body(rows, "\t"), "  }", ""])


def _row(name: str, kind: str, key: str, before: Object | None, after: Object | None) -> Row:
    empty = _EMPTY.get(key, {})
    full: list[str] = []
    if before is not None and after is not None and before != after:
        keys = [*empty, *sorted((before.keys() | after.keys()) - empty.keys())]
        fields = [(_name(each), _value(each, before, empty), _value(each, after, empty)) for each in keys]
        inner: list[Row] = [(*field, []) for field in fields]
        full = [f"  \t{name}: &core.{kind}{{", *_body(inner, "\t\t"), "  \t},"]
    return name, _short(before, empty), _short(after, empty), full


def _name(key: str) -> str:
    return _GO_NAMES.get(key, key[0].upper() + key[1:])


def _value(key: str, source: Object, empty: Mapping[str, str]) -> str:
    if key not in source:
        return empty.get(key, "nil")
    value = source[key]
    if key == _MAP:
        return f"{{{', '.join(f'{quoted(each)}: {quoted(value[each])}' for each in sorted(value))}}}"
    return f"&{_text(value)}" if empty.get(key) == "nil" else _text(value)


def _short(source: Object | None, empty: Mapping[str, str]) -> str:
    """A source on one line, without what is empty."""
    if source is None:
        return "nil"
    keys = [*(key for key in empty if key in source), *sorted(source.keys() - empty.keys())]
    return f"&{{{', '.join(f'{_name(key)}: {_value(key, source, empty)}' for key in keys)}}}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_name(key)}: {_text(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"{{{', '.join(map(_text, value))}}}"
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)


def _body(rows: Sequence[Row], indent: str) -> Iterator[str]:
    """The fields around changes, and how many are left out between them."""
    return shown_fields(
        rows,
        lambda row: bool(row[1] != row[2] or row[3]),
        lambda group: _lines(group, indent),
        indent=indent,
    )


def _lines(rows: Sequence[Row], indent: str) -> Iterator[str]:
    """Fields that take one line each stand below each other; one that takes several parts them."""
    for several, run in groupby(rows, lambda row: bool(row[3])):
        group = list(run)
        width = max(len(name) for name, *_ in group) + 1
        for name, before, after, full in group:
            lead = f"{indent}{name + ':':{width}} "
            if several:
                yield from full
            elif before == after:
                yield f"  {lead}{before},"
            else:
                yield f"- {lead}{before},"
                yield f"+ {lead}{after},"
