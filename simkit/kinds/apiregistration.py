"""Strategy of APIService. An APIService without a service is local and always available.

Follows ``k8s.io/kube-aggregator/pkg/registry/apiservice/strategy.go`` and
``k8s.io/kube-aggregator/pkg/apis/apiregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
import operator
from typing import Final

from simkit.kinds.parts.cells import columns
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, missing, prepared
from simkit.kinds.parts.validation.fields import status_of
from simkit.kinds.parts.validation.ip import PORT_RANGE
from simkit.kinds.rules import REQUIRED, Row, by, fields, last, must, row, validation, whole
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, Subresource, WriteContext
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, invalid_value, quoted
from simkit.meta.name_validation import dns1035_label, dns_subdomain, path_segment, whole_path_segment
from simkit.meta.objects import Draft, Object, at, metadata

AUTOMANAGED: Final = label("automanaged", "kube-aggregator")
"""The label of registrations that the server makes and removes for groups that it serves itself."""
_PORT: Final = 443


def _prepare_with_context(
    behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext
) -> None:
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


def _validate_name(behaviour: ServedBehaviour, path: str, obj: Object) -> Errors:
    """The error of a name that is not the version, a dot and the group."""
    wanted = f"{at(obj, 'spec', 'version') or ''}.{at(obj, 'spec', 'group') or ''}"
    for field in ("generateName", "name"):
        given = metadata(obj).get(field)
        if given and given != wanted and not path_segment(given):
            text = f'must be `spec.version+"."+spec.group`: {quoted(wanted)}'
            yield invalid_value(f".metadata.{field}", given, text)


def _priority(name: str, most: int) -> Row:
    return row(name, must.be_between(1, most, f"must be positive and less than {most}"), zero=0)


def _size(bundle: str) -> str:
    return f"{len(base64.b64decode(bundle))} bytes"


_LOCAL: Final = fields.absent("service")
_NAME: Final = by(_validate_name)
_FIELDS: Final = row(
    "spec",
    row(
        "group",
        must.be_given("only v1 may have an empty group and it better be legacy kube"),
        unless=fields.equal("version", "v1"),
    ),
    row("group", must.be(dns_subdomain)),
    row("version", must.be(dns1035_label), zero=""),
    _priority("groupPriorityMinimum", 20000),
    _priority("versionPriority", 1000),
    row("caBundle", must.be_otherwise("local APIServices may not have a caBundle", _size), when=_LOCAL),
    row(
        "insecureSkipTLSVerify",
        must.hold(operator.not_, "local APIServices may not have insecureSkipTLSVerify"),
        when=_LOCAL,
    ),
    row(
        "service",
        row("namespace", REQUIRED),
        row("name", REQUIRED),
        row("port", must.be_between(1, 65535, f"port is not valid: {PORT_RANGE}")),
    ),
    row(
        "insecureSkipTLSVerify",
        must.be_otherwise("may not be true if caBundle is present"),
        when=fields.given("service", "insecureSkipTLSVerify", "caBundle"),
    ),
)


def _where(obj: Object) -> str:
    service = at(obj, "spec", "service")
    return "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"


def _availability(obj: Object) -> str:
    condition = status_of(obj, "Available")
    if condition is None:
        return "Unknown"
    status: str = condition.get("status") or ""
    return status if status == "True" else f"{status} ({condition.get('reason', '')})"


STRATEGIES: Final = {
    "APIService": Strategy(
        unqualified_finalizers=True,
        validate_name=whole_path_segment,
        default=missing("spec.service", {"port": _PORT}, optional=True),
        prepare=prepared(spec=True, status={}),
        prepare_with_context=_prepare_with_context,
        metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
        validate=validation(created=(_FIELDS,), changed=whole(_NAME)),
        validate_last=last(whole(_FIELDS)),
        validate_first=validation(created=(_NAME,)),
        print_row=columns(_where, _availability),
        subresources={
            "status": Subresource(
                keep_all_but_own_status,
                validation(
                    row("status.conditions[]", row("status", must.be_one_of("True", "False", "Unknown"), zero=""))
                ),
            )
        },
        status_reset_fields=(("metadata",),),
        allow_unconditional_update=False,
    ),
}
