"""Strategy of Node: defaulting, validation, warnings, printer columns. A status given on create is kept.

Follows ``pkg/registry/core/node/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from operator import ne
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, UNKNOWN, created
from simkit.kinds.parts.copy_on_write import keep_all_but_status
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.kinds.parts.validation.fields import key_texts, repeats, status_of, validate_text
from simkit.kinds.parts.validation.ip import Network, cidr_warnings, network, validate_cidr
from simkit.kinds.parts.validation.resource_quantities import validate_resource_quantity
from simkit.kinds.rules import Row, at_root, fields, must, row
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import (
    Errors,
    FieldError,
    duplicate,
    forbidden_field,
    internal_error,
    invalid_value,
    quoted,
    required,
    unsupported,
)
from simkit.meta.name_validation import dns_label, dns_subdomain, label_value, qualified_name
from simkit.meta.objects import Draft, Object, at, labels_of, name_of
from simkit.meta.wording import joined


def _config(path: str, *of_server: Row) -> Row:
    """The row of a source of a kubelet's configuration, with those of what the server knows of it."""
    return row(
        path,
        row(
            "",
            must.be_otherwise(
                "exactly one reference subfield must be non-nil", partial(structure, "core.NodeConfigSource")
            ),
            when=fields.absent("configMap"),
        ),
        row(
            "configMap",
            *of_server,
            row("namespace", must.be_given("namespace must be set"), must.be(dns_label)),
            row("name", must.be_given("name must be set"), must.be(dns_subdomain)),
            row("kubeletConfigKey", must.be_given("kubeletConfigKey must be set"), must.be(key_texts)),
        ),
    )


_FROM_SERVER: Final = ("uid", "resourceVersion")
_NOT_TOLD: Final = [row(name, must.be_absent(f"{name} must not be set in spec")) for name in _FROM_SERVER]
_TOLD: Final = [row(name, must.be_given(f"{name} must be set in status")) for name in _FROM_SERVER]
_CONFIGS: Final = row(
    "",
    _config("spec.configSource", *_NOT_TOLD),
    *(_config(f"status.config.{state}", *_TOLD) for state in ("assigned", "active", "lastKnownGood")),
    since="node-config-allowed",
)
"""The configuration that a changed node asks for, and those that its kubelet tells."""


_NAME: Final = re.compile("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_LONGEST: Final = 253
_FORM: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_declared_features(path: str, features: Sequence[str]) -> Errors:
    """The errors of the names of features, which are sorted and stand once.

    Examples
    --------
    >>> [error.detail for error in validate_declared_features("p", ["B", "A"])]
    ['list must be sorted alphabetically']
    """
    for index, name in enumerate(features):
        wrong = _fault(name)
        if wrong:
            yield invalid_value(f"{path}[{index}]", name, f"invalid feature name {quoted(name)}: {wrong}")
        after = features[index + 1 : index + 2]
        if after == [name]:
            yield duplicate(f"{path}[{index + 1}]", name)
        elif after and after[0].encode() < name.encode():
            yield invalid_value(f"{path}[{index + 1}]", after[0], "list must be sorted alphabetically")


def _fault(name: str) -> str:
    if len(name.encode()) > _LONGEST:
        return f"must be no more than {_LONGEST} characters"
    return "" if _NAME.fullmatch(name) else _FORM


_ROLES: Final = label("", "node-role")
_ROLE: Final = label("role")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CONFIG_GOES: Final = "deprecated in v1.22, support removal is planned in v1.23"


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    spec = draft.get("spec") or {}
    if at(old, "spec", "configSource") is None and not behaviour.applies("node-config-allowed"):
        spec = {name: value for name, value in spec.items() if name != "configSource"}
    draft["spec"] = spec


def _keep_status(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Keep everything but the status, and of that the configuration unless one is stored."""
    keep_all_but_status(behaviour, draft, live)
    if behaviour.applies("node-config-allowed"):
        return
    if at(live, "status", "config") is None and at(draft, "status", "config") is not None:
        draft["status"] = {name: value for name, value in draft["status"].items() if name != "config"}


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    """Set allocatable to the capacity by default, and ``podCIDRs`` to ``podCIDR``."""
    spec = draft.get("spec") or {}
    single, several = spec.get("podCIDR") or "", spec.get("podCIDRs") or []
    if single and several[:1] != [single]:
        draft["spec"] = {**spec, "podCIDRs": [single]}
    elif several and not single:
        draft["spec"] = {**spec, "podCIDR": several[0]}
    status = draft.get("status") or {}
    if status.get("capacity") and not status.get("allocatable"):
        draft["status"] = {**status, "allocatable": dict(status["capacity"])}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    yield from _validate_taint(at(obj, "spec", "taints") or ())
    yield from _validate_resource(behaviour, obj.get("status") or {})
    yield from _validate_range(behaviour, at(obj, "spec", "podCIDRs") or ())


def _validate_update(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors of an update, some of them twice."""
    status = obj.get("status") or {}
    yield from _validate_resource(behaviour, status)
    yield from _validate_address(status.get("addresses") or ())
    yield from _changes(obj.get("spec") or {}, at(old, "spec") or {})
    yield from at_root(_CONFIGS(behaviour, obj))
    yield from _validate_taint(at(obj, "spec", "taints") or ())
    if (at(obj, "spec", "externalID") or "") != (at(old, "spec", "externalID") or ""):
        yield forbidden_field("spec.externalID", "may not be updated")


def _validate_taint(taints: Sequence[Object]) -> Errors:
    again = repeats((taint.get("effect") or "", taint.get("key") or "") for taint in taints)
    for index, taint in enumerate(taints):
        path, key = f"metadata.taints[{index}]", taint.get("key") or ""
        value, effect = taint.get("value") or "", taint.get("effect") or ""
        yield from validate_text(f"{path}.key", key, qualified_name)
        wrong = label_value(value)
        if wrong:
            yield invalid_value(f"{path}.value", value, joined(";", wrong))
        if not effect:
            yield required(f"{path}.effect")
        elif effect not in _EFFECTS:
            yield unsupported(f"{path}.effect", effect, _EFFECTS)
        if index in again:
            error = duplicate(path, structure("core.Taint", {**taint, "timeAdded": None}))
            yield FieldError(error.kind, path, error.value, "taints must be unique by key and effect pair")


def _validate_resource(behaviour: ServedBehaviour, status: Object) -> Errors:
    for part in ("capacity", "allocatable"):
        amounts = status.get(part) or {}
        for name in sorted(amounts):
            yield from validate_resource_quantity(behaviour, f"status.{part}.{name}", name, amounts[name])
    yield from validate_declared_features("status.declaredFeatures", status.get("declaredFeatures") or ())


def _validate_range(behaviour: ServedBehaviour, ranges: Sequence[str]) -> Errors:
    path = "spec.podCIDRs"
    for index, one in enumerate(ranges):
        if network(one) is None and not behaviour.applies("node-ranges-told-one-by-one"):
            yield invalid_value(f"{path}[{index}]", texts(ranges), "must be valid CIDR")
        else:
            yield from validate_cidr(behaviour, f"{path}[{index}]", one)
    if len(ranges) < 2:
        return
    found: list[Network] = [each for each in map(network, ranges) if each is not None]
    unread = next((index for index, one in enumerate(ranges) if network(one) is None), None)
    if unread is not None:
        wrong = f"invalid CIDR[{unread}]: <nil> (invalid CIDR address: {ranges[unread]})"
        yield internal_error(path, f"invalid PodCIDRs. failed to check with dual stack with error:{wrong}")
    versions = {each.version for each in found}
    if len(ranges) > 2 or len(versions) != 2:
        yield invalid_value(path, texts(ranges), "may specify no more than one CIDR for each IP family")
    yield from (duplicate(f"{path}[{index}]", ranges[index]) for index in sorted(repeats(ranges)))


def _changes(spec: Object, old: Object) -> Errors:
    """The errors of changed CIDRs and provider IDs, which are set once."""
    before, now = old.get("podCIDRs") or [], spec.get("podCIDRs") or []
    if before:
        text = 'node updates may not change podCIDR except from "" to valid'
        same_length = len(before) == len(now)
        differing = sum(map(ne, before, now)) if same_length else 1
        yield from (forbidden_field("spec.podCIDRs", text) for _ in range(differing))
    if old.get("providerID") and spec.get("providerID") != old["providerID"]:
        text = 'node updates may not change providerID except from "" to valid'
        yield forbidden_field("spec.providerID", text)


def _validate_address(addresses: Sequence[Object]) -> Errors:
    for index in sorted(repeats((one.get("type"), one.get("address")) for one in addresses)):
        yield duplicate(f"status.addresses[{index}]", structure("core.NodeAddress", addresses[index]))


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    if at(obj, "spec", "configSource") is not None:
        text = "the feature is removed" if behaviour.applies("node-config-gone") else _CONFIG_GOES
        yield f"spec.configSource: {text}"
    if at(obj, "spec", "externalID") and behaviour.applies("external-ids-warned"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    if behaviour.applies("addresses-warned-about"):
        for index, text in enumerate(at(obj, "spec", "podCIDRs") or ()):
            yield from cidr_warnings(behaviour, f"spec.podCIDRs[{index}]", text)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    addresses = at(obj, "status", "addresses") or ()
    first = {one.get("type"): one.get("address") or "" for one in reversed(addresses)}
    info = at(obj, "status", "nodeInfo") or {}
    return [
        name_of(obj),
        _state(obj),
        ",".join(roles(obj)) or NONE,
        created(obj, now),
        info.get("kubeletVersion") or "",
        first.get("InternalIP", NONE),
        first.get("ExternalIP", NONE),
        info.get("osImage") or UNKNOWN,
        _kernel(behaviour, info),
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _kernel(behaviour: ServedBehaviour, info: Object) -> str:
    """The kernel with what it was built for."""
    kernel: str = info.get("kernelVersion") or UNKNOWN
    built = info.get("architecture")
    return f"{kernel} ({built})" if built and behaviour.applies("architecture-of-kernels") else kernel


def _state(obj: Object) -> str:
    ready = status_of(obj, "Ready")
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if at(obj, "spec", "unschedulable") else state


def roles(obj: Object) -> list[str]:
    """The roles of a node, from its labels."""
    labels = labels_of(obj)
    found = {key.removeprefix(_ROLES) for key in labels if key.startswith(_ROLES)}
    return sorted((found | {labels.get(_ROLE, "")}) - {""})


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    validate_last=_validate_update,
    default=_default,
    prepare=_prepare,
    validate=_validate,
    warnings=_warnings,
    print_row=_row,
    selectable_fields=lambda obj: {"spec.unschedulable": "true" if at(obj, "spec", "unschedulable") else "false"},
    subresources={"status": Subresource(_keep_status, _validate_update, owns_all=True)},
    keeps_status_on_create=True,
)
