"""Strategy of CertificateSigningRequest with its approval and status subresources.

Follows ``pkg/registry/certificates/certificates/strategy.go`` and ``pkg/apis/certificates/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, created, duration
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy, own_items
from simkit.kinds.parts.go_printing.diff import difference
from simkit.kinds.parts.validation.fields import SIGNER
from simkit.kinds.parts.validation.pem import certificates_error, octets, request_error
from simkit.kinds.rules import by, distinct, first, must, placed, row, table
from simkit.kinds.strategy import (
    CHANGES,
    MetadataCheck,
    MetadataChecks,
    Strategy,
    Subresource,
    Validate,
    WriteContext,
    selecting,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import CERTIFICATES_GROUP, label
from simkit.meta.fielderror import (
    Errors,
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    quoted,
    required,
    unsupported,
)
from simkit.meta.name_validation import any_name
from simkit.meta.objects import Draft, Object, at, name_of
from simkit.meta.user_info import user_info
from simkit.meta.wording import Worded

_LEGACY: Final = label("legacy-unknown")
_DECISIONS: Final = ("Approved", "Denied")
_FINAL: Final = (*_DECISIONS, "Failed")
_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_CONDITIONS: Final = "[]certificates.CertificateSigningRequestCondition"
_OF_REQUESTER: Final = ("username", "uid", "groups", "extra")


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Reset the spec to the stored one on updates."""
    if old is None:
        draft["status"] = {}
    elif "spec" in old:
        draft["spec"] = old["spec"]


def _prepare_with_context(
    behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext
) -> None:
    """Set the requesting user from the request, and missing times of conditions."""
    if old is None and circumstances.identity is not None:
        spec = {name: value for name, value in (draft.get("spec") or {}).items() if name not in _OF_REQUESTER}
        draft["spec"] = {**spec, **user_info(circumstances.identity)}
    if old is not None and at(draft, "status", "conditions"):
        _stamp_conditions(draft, old, timestamp(circumstances.now))


def _stamp_conditions(draft: Draft, old: Object, now: str) -> None:
    before = {(one.get("type"), one.get("status")): one for one in at(old, "status", "conditions") or ()}
    for condition in own_items(own_copy(draft, "status"), "conditions"):
        known = before.get((condition.get("type"), condition.get("status"))) or {}
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or known.get("lastTransitionTime") or now
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    legacy = at(old or {}, "spec", "signerName") == _LEGACY
    checks = (_REQUEST,) if legacy else (_REQUEST, _KNOWN_USAGES, _SIGNER)
    return [*placed("spec", table(*checks)(behaviour, spec)), *_validate_status_only(obj, old)]


def _validate_older(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors in v1beta1, which allows unknown and duplicate usages, and the legacy signer."""
    spec = obj.get("spec") or {}
    checks = (_REQUEST,) if spec.get("signerName") == _LEGACY else (_REQUEST, _SIGNER)
    return [*placed("spec", table(*checks)(behaviour, spec)), *_validate_status_only(obj, old, beta=True)]


def _validate_request(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    why = request_error(spec.get("request"))
    if why:
        yield invalid_value(f"{path}.request", octets(spec.get("request")), why)


_REQUEST: Final = table(
    by(_validate_request),
    row("usages", must.be_given(Worded("usages-told-as-required", "", "usages must be provided"))),
)
_KNOWN_USAGES: Final = table(row("usages[]", must.be_one_of(*_USAGES)), row("usages[]", distinct()))
_SIGNER: Final = first(
    row("signerName", must.be_given("signerName must be provided"), until="usages-told-as-required"),
    table(
        row(
            "signerName",
            must.hold(lambda signer: signer != _LEGACY, "the legacy signerName is not allowed via this API version"),
            SIGNER,
            zero="",
        ),
        row(
            "expirationSeconds",
            must.hold(lambda seconds: seconds >= 600, "may not specify a duration less than 600 seconds (10 minutes)"),
        ),
    ),
)


def _validate_status_only(obj: Object, old: Object | None, *, beta: bool = False) -> Errors:
    """The errors of the status; v1beta1 allows conditions without a type, repeated ones, and any certificate."""
    conditions: Sequence[Object] = at(obj, "status", "conditions") or ()
    seen: list[str] = []
    for index, condition in enumerate(conditions):
        path, kind, status = f"status.conditions[{index}]", condition.get("type") or "", condition.get("status") or ""
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not kind and not beta:
            yield required(f"{path}.type")
        if not status:
            yield required(f"{path}.status")
        elif status not in allowed:
            yield unsupported(f"{path}.status", status, allowed)
        if kind in _DECISIONS and any(other in seen for other in _DECISIONS if other != kind):
            yield invalid_value(f"{path}.type", kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen and not beta:
            yield duplicate(f"{path}.type", kind)
        seen.append(kind)
    certificate = at(obj, "status", "certificate")
    why = certificates_error(certificate)
    if why and not beta and (old is None or certificate != at(old, "status", "certificate")):
        yield invalid_value("status.certificate", "<certificate data>", why)


def _sign(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Keep everything but the status, and decisions as they are unless one comes or goes."""
    keep_all_but_status(behaviour, draft, live)
    for kind in _DECISIONS:
        was = iter(_of_type(live, kind))
        if len(_of_type(draft, kind)) == len(_of_type(live, kind)) > 0:
            conditions = at(draft, "status", "conditions") or ()
            kept = [next(was) if one.get("type") == kind else one for one in conditions]
            draft["status"] = {**draft["status"], "conditions": kept}


def _approve(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Keep everything but the conditions on approval."""
    conditions = at(draft, "status", "conditions")
    keep_all_but_status(behaviour, draft, live)
    status = {name: value for name, value in (live.get("status") or {}).items() if name != "conditions"}
    draft["status"] = {**status, "conditions": conditions} if conditions else status


def _parts(validate: Validate) -> Mapping[str, Subresource]:
    """The subresources of a version whose requests are validated so; only the approval may decide."""

    def validated(behaviour: ServedBehaviour, obj: Object, old: Object | None, *, decides: bool) -> list[FieldError]:
        return [*validate(behaviour, obj, old), *_validate_change(behaviour, obj, old or {}, decides=decides)]

    return {
        "approval": Subresource(_approve, partial(validated, decides=True)),
        "status": Subresource(_sign, partial(validated, decides=False)),
    }


def _validate_change(behaviour: ServedBehaviour, obj: Object, old: Object, *, decides: bool) -> Errors:
    """The errors of removed decisions, decisions outside of approval, and a changed certificate."""
    path = "status.conditions"
    for kind in _FINAL:
        now, was = _of_type(obj, kind), _of_type(old, kind)
        if len(now) < len(was):
            yield forbidden_field(path, f"updates may not remove a condition of type {quoted(kind)}")
        elif decides or kind not in _DECISIONS or now == was:
            continue
        elif len(now) > len(was):
            yield forbidden_field(path, f"updates may not add a condition of type {quoted(kind)}")
        else:
            text = f"updates may not modify a condition of type {quoted(kind)}"
            yield forbidden_field(path, f"{text}\n{difference(behaviour, _CONDITIONS, was, now)}")
    before = at(old, "status", "certificate")
    if before and at(obj, "status", "certificate") != before:
        yield forbidden_field("status.certificate", "updates may not modify existing certificate content")


def _of_type(obj: Object, kind: str) -> list[Object]:
    return [one for one in at(obj, "status", "conditions") or () if one.get("type") == kind]


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    asked = NONE if seconds is None else duration(seconds)
    signer, user = spec.get("signerName") or NONE, spec.get("username") or ""
    return [name_of(obj), created(obj, now), signer, user, asked, _state(obj)]


def _state(obj: Object) -> str:
    denied, approved, failed = (bool(_of_type(obj, kind)) for kind in ("Denied", "Approved", "Failed"))
    state = "Denied" if denied else "Approved" if approved else "Pending"
    issued = ",Issued" if at(obj, "status", "certificate") else ""
    return f"{state}{',Failed' if failed else ''}{issued}"


_CHECKS: Final = (MetadataCheck(whole=True, prefix=False), CHANGES)
_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks(_CHECKS, part=_CHECKS),
    validate_name=any_name,
    prepare=_prepare,
    prepare_with_context=_prepare_with_context,
    validate=_validate,
    print_row=_row,
    selectable_fields=selecting("spec.signerName"),
    subresources=_parts(_validate),
    reset_fields=lambda _: {
        "": ("spec", "status"),
        "status": ("spec",),
        "approval": ("spec", "status.certificate"),
    },
)
STRATEGY = replace(
    _STABLE,
    older_versions={
        f"{CERTIFICATES_GROUP}/v1beta1": replace(
            _STABLE,
            validate=_validate_older,
            subresources=_parts(_validate_older),
        )
    },
)
