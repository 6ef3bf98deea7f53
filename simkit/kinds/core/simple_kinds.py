"""Strategies of Binding, ComponentStatus, ConfigMap, Event, PodTemplate and ServiceAccount.

Follows ``pkg/registry/core`` and ``pkg/apis/core/validation``, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import columns, created, pairs
from simkit.kinds.parts.copy_on_write import prepared, without_empty
from simkit.kinds.parts.event import event_fields, event_row, validate_event
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import names_and_images, prepare_template, validate_template
from simkit.kinds.parts.pod.warnings import pod_warnings
from simkit.kinds.parts.template_owner import has_generation
from simkit.kinds.parts.validation.fields import LARGEST, validate_key
from simkit.kinds.rules import by, immutable, last, validation, whole
from simkit.kinds.strategy import CHANGES, WHOLE, DeleteStrategy, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, invalid_value, required, too_long, unsupported
from simkit.meta.name_validation import path_segment
from simkit.meta.objects import Draft, Object, at, labels_of, name_of


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    target = obj.get("target") or {}
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        yield unsupported("target.kind", kind, ("Node", "<empty>"))
    if not target.get("name"):
        yield required("target.name")


_WORDS: Final = {"True": "Healthy"}


def _component_status_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    health = next((each for each in obj.get("conditions") or () if each.get("type") == "Healthy"), None)
    if health is None:
        return [name_of(obj), "Unknown", "", ""]
    status = _WORDS.get(health.get("status") or "", "Unhealthy")
    return [name_of(obj), status, health.get("message") or "", health.get("error") or ""]


def _validate_data(behaviour: ServedBehaviour, path: str, obj: Object) -> Errors:
    texts, binaries = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in texts:
        yield from validate_key(behaviour, f".data[{key}]", key)
        if key in binaries:
            yield invalid_value(f".data[{key}]", key, "duplicate of key present in binaryData")
    for key in binaries:
        yield from validate_key(behaviour, f".binaryData[{key}]", key)
    size = len("".join(texts.values()).encode())
    if binaries:
        size += sum(len(base64.b64decode(value)) for value in binaries.values())
    if size > LARGEST:
        yield too_long("", LARGEST)


_DATA: Final = by(_validate_data)


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    draft.setdefault("template", {})
    default_template(behaviour, draft)


def _pod_template_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    template = obj.get("template") or {}
    return [name_of(obj), *names_and_images(template), pairs(labels_of(template))]


def _template_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about a template that is new or changed."""
    unchanged = old is not None and old.get("template") == obj["template"]
    return () if unchanged else tuple(pod_warnings(behaviour, "template", obj["template"]))


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Keep only the names of secret references."""
    without_empty(draft, ("secrets", "imagePullSecrets"))
    if "secrets" in draft:
        draft["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in draft["secrets"]]


def _service_account_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    secrets = () if behaviour.applies("no-secrets-column") else (len(obj.get("secrets") or ()),)
    return [name_of(obj), *secrets, created(obj, now)]


STRATEGIES: Final = {
    "Binding": Strategy(validate=_validate),
    "ComponentStatus": Strategy(print_row=_component_status_row),
    "ConfigMap": Strategy(
        metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
        prepare=prepared(without=("data", "binaryData")),
        validate=validation(created=(_DATA,), changed=immutable("data", "binaryData")),
        validate_last=last(whole(_DATA)),
        print_row=columns(lambda obj: len(obj.get("data") or {}) + len(obj.get("binaryData") or {})),
    ),
    "Event": Strategy(
        metadata_checks=MetadataChecks((), part=()),
        checks_new_metadata=False,
        unqualified_finalizers=True,
        validate_name=path_segment,
        validate=lambda behaviour, obj, _: validate_event(behaviour, obj, field="reportingComponent"),
        selectable_fields=event_fields,
        print_row=event_row,
        delete_strategy=DeleteStrategy(has_dependents=False),
        allow_create_on_update=True,
    ),
    "PodTemplate": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        default=_default,
        prepare=lambda behaviour, draft, old: prepare_template(behaviour, draft, at(old, "template", "spec")),
        validate=lambda behaviour, obj, _: validate_template(behaviour, "template", obj["template"]),
        raises_generation=spec_differs,
        has_generation=has_generation,
        print_row=_pod_template_row,
        warnings=_template_warnings,
        return_deleted_object=True,
    ),
    "ServiceAccount": Strategy(prepare=_prepare, print_row=_service_account_row, return_deleted_object=True),
}
