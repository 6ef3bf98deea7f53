"""Strategies of the group storage: CSIDriver, CSINode, CSIStorageCapacity, StorageClass and others.

Follows ``pkg/registry/storage`` and ``pkg/apis/storage/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, UNSET, columns, count, created, flag
from simkit.kinds.parts.copy_on_write import (
    keep_all_but_own_status,
    missing,
    null_where_empty,
    own_copy,
    own_items,
    prepared,
)
from simkit.kinds.parts.go_printing.structures import selector as shown_selector
from simkit.kinds.parts.go_printing.structures import structure, text_map, texts
from simkit.kinds.parts.pod.validation.volumes import DRIVER, TOKEN_SECONDS
from simkit.kinds.parts.template_owner import default_missing
from simkit.kinds.parts.validation.fields import repeats, validate_text
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR, deprecation, selector_warnings
from simkit.kinds.parts.validation.resource_quantities import validate_nonnegative_quantity
from simkit.kinds.parts.volume.persistent_spec import (
    INLINE_VOLUME,
    default_sources,
    provisioner,
    validate_parameters,
    validate_topology,
)
from simkit.kinds.rules import (
    REQUIRED,
    Change,
    by,
    changes,
    distinct,
    fields,
    fixed,
    last,
    must,
    placed,
    row,
    table,
    validation,
    whole,
)
from simkit.kinds.strategy import (
    CHANGES,
    WHOLE,
    MetadataCheck,
    MetadataChecks,
    Strategy,
    Subresource,
    again,
    spec_differs,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, FieldError, Shown, duplicate, invalid_value, required, too_long, unsupported
from simkit.meta.name_validation import dns_subdomain, qualified_name
from simkit.meta.objects import Draft, Object, annotations_of, at, metadata, name_of
from simkit.meta.wording import Written

_DEFAULTS: Final = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}
_LOGGED_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def _default_csi_driver(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    default_missing(spec, _DEFAULTS)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _prepare_csi_driver(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Raise the generation when the spec changes; a new driver has none."""
    if old is not None and spec_differs(draft, old):
        draft["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _validate_tokens(behaviour: ServedBehaviour, path: str, requests: Sequence[Object]) -> Errors:
    again = repeats(request["audience"] for request in requests)
    for index, request in enumerate(requests):
        if index in again:
            yield duplicate(f"{path}[{index}].audience", request["audience"])
        elif request.get("expirationSeconds") is not None:
            yield from placed(
                f"{path}[{index}].expirationSeconds", TOKEN_SECONDS(behaviour, request["expirationSeconds"])
            )


def _validate_modes(behaviour: ServedBehaviour, path: str, modes: Sequence[str]) -> Errors:
    known = ("Persistent", "Ephemeral")
    return (unsupported(path, mode, known) for mode in modes if mode not in known)


_RULES: Final = validation(
    row("spec.fsGroupPolicy", must.be_one_of("File", "None", "ReadWriteOnceWithFSType"), empty=True),
    row("spec.tokenRequests", by(_validate_tokens)),
    row("spec.volumeLifecycleModes", by(_validate_modes)),
    row(
        "spec.nodeAllocatableUpdatePeriodSeconds",
        must.hold(lambda seconds: seconds >= 10, "must be greater than or equal to 10 seconds"),
    ),
    row(
        "spec.serviceAccountTokenInSecrets",
        must.be_otherwise("serviceAccountTokenInSecrets is set but no tokenRequests are specified"),
        unless=fields.given("spec.tokenRequests"),
    ),
    changed=changes(
        fixed("spec.attachRequired", told="spec.attachedRequired"),
        fixed("spec.fsGroupPolicy", "spec.podInfoOnMount", until="csi-drivers-change-more"),
        fixed("spec.volumeLifecycleModes", shown=partial(texts, kind="storage.VolumeLifecycleMode")),
    ),
)


def _csi_driver_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    changed = old is None or at(old, "spec", "tokenRequests") != requests
    told = requests and changed and spec.get("serviceAccountTokenInSecrets") is None
    return [_LOGGED_TOKENS] if told and behaviour.applies("token-requests-of-drivers-warned") else []


def _audiences(obj: Object) -> str:
    requests = at(obj, "spec", "tokenRequests")
    return UNSET if requests is None else ",".join(request.get("audience") or "" for request in requests)


def _prepare_csi_node(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    spec = own_copy(draft, "spec")
    null_where_empty(spec, "drivers")
    for driver in own_items(spec, "drivers"):
        null_where_empty(driver, "topologyKeys")


def _validate_change(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
    path = "spec.drivers" if behaviour.applies("driver-errors-name-list") else "CSINodeDriver"
    return [
        invalid_value(path, structure("storage.CSINodeDriver", _fixed(behaviour, driver)), "field is immutable")
        for before in at(old, "spec", "drivers") or ()
        for driver in obj["spec"].get("drivers") or ()
        if driver["name"] == before["name"] and _fixed(behaviour, driver) != _fixed(behaviour, before)
    ]


def _fixed(behaviour: ServedBehaviour, driver: Object) -> Object:
    """A driver without what may change."""
    if not behaviour.applies("volume-counts-of-nodes-change"):
        return driver
    return {name: value for name, value in driver.items() if name != "allocatable"}


def _validate_keys(behaviour: ServedBehaviour, path: str, driver: Object) -> Errors:
    """The errors of the topology keys of a driver; kube-apiserver names the driver, not the keys."""
    keys = driver.get("topologyKeys") or ()
    again = repeats(keys)
    for index, key in enumerate(keys):
        if not key:
            yield required(path)
        if index in again:
            yield duplicate(path, key)
        yield from validate_text(path, key, qualified_name)


def _csi_storage_capacity_shown(topology: Object | None) -> Shown | Written | None:
    return shown_selector(topology) if topology is not None else None


def _csi_storage_capacity_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    if not behaviour.applies("node-labels-of-classes-warned"):
        return ()
    return list(selector_warnings(behaviour, "nodeTopology", obj.get("nodeTopology") or {}))


DEFAULT: Final = label("is-default-class", "storageclass")
_OLDER: Final = label("is-default-class", "storageclass.beta")


def _storage_class_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    if not behaviour.applies("node-labels-of-classes-warned"):
        return ()
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {text}"
        for index, term in enumerate(obj.get("allowedTopologies") or ())
        for number, one in enumerate(term.get("matchLabelExpressions") or ())
        if (text := deprecation(behaviour, one.get("key") or ""))
    ]


_IMMUTABLE: Final = "storage-classes-have-immutable-fields"


def _forbidden(name: str, zero: Any = None) -> Change:
    """The check of a field whose updates were forbidden by its name."""
    return fixed(name, zero=zero, detail=f"updates to {name} are forbidden.", forbidden=True, until=_IMMUTABLE)


def _storage_class_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    annotations = annotations_of(obj)
    name, *cells = _CELLS(behaviour, obj, now)
    return [f"{name} (default)" if "true" in (annotations.get(DEFAULT), annotations.get(_OLDER)) else name, *cells]


_CELLS: Final = columns(
    "provisioner",
    lambda obj: obj.get("reclaimPolicy") or "Delete",
    lambda obj: obj.get("volumeBindingMode") or "Immediate",
    flag("allowVolumeExpansion"),
)


_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_ONCE: Final = "attachments-checked-once"
_LARGEST: Final = 256 * 1024


def _default_volume_attachment(behaviour: ServedBehaviour, draft: Draft) -> None:
    if at(draft, "spec", "source", "inlineVolumeSpec") is not None:
        default_sources(behaviour, own_copy(draft, "spec", "source", "inlineVolumeSpec"))


_BOTH: Final = fields.present("persistentVolumeName", "inlineVolumeSpec")
_NAME: Final = must.be_given("must specify non empty persistentVolumeName")


def _validate_reported(behaviour: ServedBehaviour, path: str, metadata: Mapping[str, str]) -> Errors:
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > _LARGEST:
        yield too_long(path, _LARGEST)


def _validate_message(behaviour: ServedBehaviour, path: str, message: str) -> Errors:
    """The error of a long message: its limit is named as the metadata's, as in kube-apiserver."""
    if len(message.encode()) > 1024:
        yield too_long(path, _LARGEST)


_ERROR: Final = table(
    row("message", by(_validate_message)),
    row("errorCode", must.be_between(0, 2**31 - 1)),
)
_validate: Final = validation(
    row("spec.attacher", DRIVER, zero="", since="attachers-checked-as-drivers"),
    row("spec.attacher", REQUIRED, until="attachers-checked-as-drivers"),
    row(
        "spec.source",
        row("", must.be_set(_ONE_SOURCE), when=fields.absent("persistentVolumeName", "inlineVolumeSpec")),
        row("", must.be_refused(_ONE_SOURCE), when=_BOTH),
        row("inlineVolumeSpec", INLINE_VOLUME, unless=_BOTH),
        row("persistentVolumeName", _NAME, when=fields.present("persistentVolumeName"), unless=_BOTH),
        zero={},
    ),
    row("spec.nodeName", must.be(dns_subdomain), zero=""),
    row("status.attachmentMetadata", by(_validate_reported)),
    row("status.attachError", _ERROR),
    row("status.detachError", _ERROR),
    row("spec.source.persistentVolumeName", must.be(dns_subdomain), empty=True, since="attachments-checked-once"),
    created=(
        row("spec.attacher", DRIVER, zero="", until="attachers-checked-as-drivers"),
        row("spec.source.persistentVolumeName", must.be(dns_subdomain), empty=True, until="attachments-checked-once"),
    ),
)


def _validate_part(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    errors = _validate(behaviour, obj, old)
    return errors if behaviour.applies(_ONCE) else [*errors, *errors]


_AGAIN: Final = MetadataCheck(whole=True, until="attachments-checked-once")


_DEFAULT = label("is-default-class", "volumeattributesclass.alpha")


_TWICE: Final = "changed-attribute-classes-checked-twice"
_FIELDS: Final = table(
    provisioner("driverName"),
    row("parameters", must.be_given("must contain at least one key/value pair"), by(validate_parameters)),
)


def _volume_attributes_class_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    chosen = " (default)" if annotations_of(obj).get(_DEFAULT) == "true" else ""
    return [name_of(obj) + chosen, obj.get("driverName") or "", created(obj, now)]


STRATEGIES: Final = {
    "CSIDriver": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        default=_default_csi_driver,
        prepare=_prepare_csi_driver,
        validate=_RULES,
        warnings=_csi_driver_warnings,
        print_row=columns(
            lambda obj: (obj.get("spec") or {}).get("attachRequired", True),
            flag("spec.podInfoOnMount"),
            flag("spec.storageCapacity"),
            _audiences,
            flag("spec.requiresRepublish"),
            lambda obj: ",".join(at(obj, "spec", "volumeLifecycleModes") or ()) or NONE,
        ),
        allow_unconditional_update=False,
        return_deleted_object=True,
    ),
    "CSINode": Strategy(
        metadata_checks=MetadataChecks(
            (WHOLE,),
            after=(MetadataCheck(whole=True, until="node-drivers-checked-once"), again("node-drivers-checked-once")),
        ),
        prepare=_prepare_csi_node,
        validate=validation(
            row(
                "spec.drivers[]",
                row("name", DRIVER, zero=""),
                row("nodeID", REQUIRED, must.hold(lambda node: len(node) <= 256, "must be 256 characters or less")),
                row("allocatable.count", must.be_nonnegative),
                distinct("name"),
                by(_validate_keys),
            )
        ),
        validate_last=_validate_change,
        print_row=columns(count("spec.drivers")),
        allow_unconditional_update=False,
        return_deleted_object=True,
    ),
    "CSIStorageCapacity": Strategy(
        metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
        validate=validation(
            row("nodeTopology", LABEL_SELECTOR),
            row("storageClassName", must.be(dns_subdomain), zero=""),
            row("capacity", by(validate_nonnegative_quantity)),
        ),
        validate_last=last(
            changes(fixed("nodeTopology", shown=_csi_storage_capacity_shown), fixed("storageClassName")),
        ),
        checks_new_once=lambda behaviour: behaviour.applies("storage-capacities-checked-once"),
        warnings=_csi_storage_capacity_warnings,
        print_row=lambda _, obj, __: [name_of(obj), metadata(obj).get("creationTimestamp")],
        allow_unconditional_update=False,
    ),
    "StorageClass": Strategy(
        metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
        warnings=_storage_class_warnings,
        default=missing("", {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
        validate=validation(
            provisioner("provisioner"),
            row("parameters", by(validate_parameters)),
            row("reclaimPolicy", must.be_one_of("Delete", "Retain")),
            row("volumeBindingMode", must.be_one_of("Immediate", "WaitForFirstConsumer"), empty=True),
            row("allowedTopologies", by(validate_topology)),
        ),
        validate_last=last(
            changes(
                fixed("parameters", shown=text_map, since=_IMMUTABLE),
                fixed("provisioner", "reclaimPolicy", "volumeBindingMode", since=_IMMUTABLE),
                _forbidden("parameters", zero={}),
                _forbidden("provisioner"),
                _forbidden("reclaimPolicy"),
                fixed("volumeBindingMode", until=_IMMUTABLE),
            )
        ),
        print_row=_storage_class_row,
        return_deleted_object=True,
    ),
    "VolumeAttachment": Strategy(
        metadata_checks=MetadataChecks(
            (WHOLE,), after=(_AGAIN, again("attachments-checked-once")), part=(WHOLE, _AGAIN)
        ),
        default=_default_volume_attachment,
        prepare=prepared(status={"attached": False}),
        validate=_validate,
        validate_last=last(fixed("spec", zero={}, shown=partial(structure, "storage.VolumeAttachmentSpec"))),
        print_row=columns(
            "spec.attacher", "spec.source.persistentVolumeName", "spec.nodeName", flag("status.attached")
        ),
        subresources={"status": Subresource(keep_all_but_own_status, _validate_part)},
        status_reset_fields=(("metadata",),),
        allow_unconditional_update=False,
        return_deleted_object=True,
    ),
    "VolumeAttributesClass": Strategy(
        metadata_checks=MetadataChecks((MetadataCheck(whole=True, since=_TWICE), CHANGES), after=(WHOLE,)),
        validate=validation(
            created=(_FIELDS,),
            changed=changes(
                whole(_FIELDS, since=_TWICE),
                fixed("driverName", detail="updates to driverName are forbidden.", forbidden=True),
                fixed("parameters", zero={}, detail="updates to parameters are forbidden.", forbidden=True),
            ),
        ),
        validate_last=last(whole(_FIELDS)),
        print_row=_volume_attributes_class_row,
        return_deleted_object=True,
    ),
}
