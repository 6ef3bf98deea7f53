"""Strategy of CSIDriver: defaulting, validation, printer columns.

Follows ``pkg/registry/storage/csidriver/strategy.go`` and ``pkg/apis/storage/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.printers.cells import NONE, UNSET, created
from simkit.kinds.parts.validation.fields import FIXED, validate_immutable_field
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, unsupported
from simkit.meta.objects import Draft, Object, at, name_of

_DEFAULTS: Final = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}
_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_MODES: Final = ("Persistent", "Ephemeral")
_SHORTEST, _LONGEST = 600, 1 << 32


_SHORTEST_PERIOD: Final = 10
"""Seconds between two looks at how many volumes a node takes."""
_LOGGED_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def _default(draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    for name, value in _DEFAULTS.items():
        if spec.get(name) is None:
            spec[name] = value
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _prepare(draft: Draft, old: Object | None) -> None:
    """Raise the generation when the spec changes; a new driver has none."""
    if old is not None and spec_differs(draft, old):
        draft["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return [*_validate_fields(obj["spec"]), *(_changes(obj["spec"], old.get("spec") or {}) if old is not None else ())]


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    policy = spec["fsGroupPolicy"]
    if policy not in _GROUP_POLICIES:
        yield unsupported("spec.fsGroupPolicy", policy, _GROUP_POLICIES)
    yield from _validate_token(spec.get("tokenRequests") or ())
    for mode in spec["volumeLifecycleModes"]:
        if mode not in _MODES:
            yield unsupported("spec.volumeLifecycleModes", mode, _MODES)
    period, in_secrets = spec.get("nodeAllocatableUpdatePeriodSeconds"), spec.get("serviceAccountTokenInSecrets")
    if period is not None and period < _SHORTEST_PERIOD:
        path = "spec.nodeAllocatableUpdatePeriodSeconds"
        yield invalid_value(path, period, f"must be greater than or equal to {_SHORTEST_PERIOD} seconds")
    if in_secrets is not None and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid_value("spec.serviceAccountTokenInSecrets", in_secrets, text)


def _changes(spec: Object, old: Object) -> Iterator[FieldError]:
    yield from validate_immutable_field("spec.attachedRequired", spec["attachRequired"], old.get("attachRequired"))
    if not applies("csi-drivers-change-more"):
        for name in ("fsGroupPolicy", "podInfoOnMount"):
            yield from validate_immutable_field(f"spec.{name}", spec[name], old.get(name))
    modes = spec["volumeLifecycleModes"]
    if modes != old.get("volumeLifecycleModes"):
        shown = texts(modes, "storage.VolumeLifecycleMode")
        yield invalid_value("spec.volumeLifecycleModes", shown, FIXED)


def _validate_token(requests: Sequence[Object]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        path, audience, seconds = f"spec.tokenRequests[{index}]", request["audience"], request.get("expirationSeconds")
        if audience in seen:
            yield duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        if seconds is not None and seconds < _SHORTEST:
            yield invalid_value(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _LONGEST:
            text = "may not specify a duration larger than 2^32 seconds"
            yield invalid_value(f"{path}.expirationSeconds", seconds, text)


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    changed = old is None or at(old, "spec", "tokenRequests") != requests
    told = requests and changed and spec.get("serviceAccountTokenInSecrets") is None
    return [_LOGGED_TOKENS] if told and applies("token-requests-of-drivers-warned") else []


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if requests is None else ",".join(request.get("audience") or "" for request in requests),
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        created(obj, now),
    ]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    warnings=_warnings,
    print_row=_row,
    allow_unconditional_update=False,
    return_deleted_object=True,
)
