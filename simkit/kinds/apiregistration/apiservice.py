"""Strategy of APIService. An APIService without a service is local and always available.

Follows ``k8s.io/kube-aggregator/pkg/registry/apiservice/strategy.go`` and
``k8s.io/kube-aggregator/pkg/apis/apiregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.conditions import status_of
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.ip import PORT_RANGE
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, Subresource, WriteContext
from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, invalid_value, quoted, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_subdomain, path_segment, whole_path_segment
from simkit.meta.objects import Draft, Object, at, metadata, name_of

AUTOMANAGED: Final = label("automanaged", "kube-aggregator")
"""The label of registrations that the server makes and removes for groups that it serves itself."""
_PORT: Final = 443
_STATUSES: Final = ("True", "False", "Unknown")
_LIMITS: Final = (("groupPriorityMinimum", 20000), ("versionPriority", 1000))


def _default(draft: Draft) -> None:
    if at(draft, "spec", "service") is not None:
        own_copy(draft, "spec", "service").setdefault("port", _PORT)


def _prepare(draft: Draft, old: Object | None) -> None:
    draft["spec"] = draft.get("spec") or {}
    if old is None:
        draft["status"] = {}


def _prepare_with_context(draft: Draft, old: Object | None, circumstances: WriteContext) -> None:
    if old is None and "service" not in draft["spec"]:
        draft["status"] = {"conditions": [_available(circumstances.now)]}


def _available(now: float) -> Object:
    return {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": timestamp(now),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_name(obj) if old is not None else _validate_fields(obj["spec"]))


def _validate_last(obj: Object, old: Object) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"]))


def _validate_first(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_name(obj)) if old is None else ()


def _validate_name(obj: Object) -> Iterator[FieldError]:
    """The error of a name that is not the version, a dot and the group."""
    wanted = f"{at(obj, 'spec', 'version') or ''}.{at(obj, 'spec', 'group') or ''}"
    for field in ("generateName", "name"):
        given = metadata(obj).get(field)
        if given and given != wanted and not path_segment(given):
            text = f'must be `spec.version+"."+spec.group`: {quoted(wanted)}'
            yield invalid_value(f"metadata.{field}", given, text)


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    group, version = spec.get("group") or "", spec.get("version") or ""
    if not group and version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    if group:
        yield from validate_text("spec.group", group, dns_subdomain)
    yield from validate_text("spec.version", version, dns1035_label)
    for name, limit in _LIMITS:
        number = spec.get(name) or 0
        if not 0 < number <= limit:
            yield invalid_value(f"spec.{name}", number, f"must be positive and less than {limit}")
    bundle = len(base64.b64decode(spec.get("caBundle") or ""))
    insecure = bool(spec.get("insecureSkipTLSVerify"))
    if "service" not in spec:
        if bundle:
            yield invalid_value("spec.caBundle", f"{bundle} bytes", "local APIServices may not have a caBundle")
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            yield invalid_value("spec.insecureSkipTLSVerify", True, text)
        return
    yield from _validate_service(spec["service"])
    if insecure and bundle:
        yield invalid_value("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def _validate_service(service: Object) -> Iterator[FieldError]:
    for name in ("namespace", "name"):
        if not service.get(name):
            yield required(f"spec.service.{name}")
    if not 1 <= service["port"] <= 65535:
        yield invalid_value("spec.service.port", service["port"], f"port is not valid: {PORT_RANGE}")


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    conditions: Sequence[Object] = at(obj, "status", "conditions") or ()
    return [
        unsupported(f"status.conditions[{index}].status", condition.get("status") or "", _STATUSES)
        for index, condition in enumerate(conditions)
        if condition.get("status") not in _STATUSES
    ]


def _row(obj: Object, now: float) -> Sequence[Any]:
    service = at(obj, "spec", "service")
    where = "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"
    return [name_of(obj), where, _availability(obj), created(obj, now)]


def _availability(obj: Object) -> str:
    condition = status_of(obj, "Available")
    if condition is None:
        return "Unknown"
    status: str = condition.get("status") or ""
    return status if status == "True" else f"{status} ({condition.get('reason', '')})"


STRATEGY = Strategy(
    unqualified_finalizers=True,
    validate_name=whole_path_segment,
    default=_default,
    prepare=_prepare,
    prepare_with_context=_prepare_with_context,
    metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
    validate=_validate,
    validate_last=_validate_last,
    validate_first=_validate_first,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
)
