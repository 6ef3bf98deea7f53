"""Strategy of PodCertificateRequest: validation of the request and of what was issued, selectors, printer columns.

Follows ``pkg/registry/certificates/podcertificaterequest/strategy.go`` and
``pkg/apis/certificates/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import pairs
from simkit.kinds.parts.certificates import validate_chain, validate_proven_key, validate_stub_request
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, missing, prepared
from simkit.kinds.parts.go_printing.structures import internal_json
from simkit.kinds.parts.validation.fields import CONDITIONS, SIGNER
from simkit.kinds.rules import FIXED, must, placed, row, table
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource, selecting
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import LABEL_DOMAIN
from simkit.meta.fielderror import OMITTED, Errors, FieldError, invalid_value, required, too_long, unsupported
from simkit.meta.name_validation import dns_subdomain, qualified_name
from simkit.meta.objects import Object, at, name_of

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_LARGEST_ANNOTATIONS: Final = 256 * 1024
_ENDS: Final = ("Issued", "Denied", "Failed")
_UID: Final = table(must.hold(bool, "must not be empty"), must.have_at_most_bytes(128))
_NAMED: Final = table(
    row("podName", must.be(dns_subdomain), zero=""),
    row("podUID", _UID, zero=""),
    row("serviceAccountName", must.be(dns_subdomain), zero=""),
    row("serviceAccountUID", _UID, zero=""),
    row("nodeName", must.be(dns_subdomain), zero=""),
    row("nodeUID", _UID, zero=""),
)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj["spec"]
    if old is None:
        return list(_validate_new(behaviour, spec))
    if spec == (old.get("spec") or {}):
        return ()
    return [
        invalid_value("spec", internal_json(behaviour.minor, "certificates.PodCertificateRequestSpec", spec), FIXED)
    ]


def _validate_new(behaviour: ServedBehaviour, spec: Object) -> Errors:
    signer, most = spec.get("signerName") or "", spec.get("maxExpirationSeconds")
    yield from placed("spec.signerName", SIGNER(behaviour, signer))
    yield from _validate_annotations(spec.get("unverifiedUserAnnotations"))
    yield from placed("spec", _NAMED(behaviour, spec))
    if most is None:
        yield required("spec.maxExpirationSeconds", "must be set")
        return
    domain = signer.partition("/")[0]
    own = domain == LABEL_DOMAIN or domain.endswith(f".{LABEL_DOMAIN}")
    longest = _DAY if own else 91 * _DAY
    if not _HOUR <= most <= longest:
        yield invalid_value("spec.maxExpirationSeconds", most, f"must be in the range [{_HOUR}, {longest}]")
    yield from _validate_key(behaviour, spec)


def _validate_annotations(annotations: Object | None) -> Errors:
    path = "spec.unverifiedUserAnnotations"
    for key in sorted(annotations or ()):
        wrong = qualified_name(key.lower())
        if not wrong and key.count("/") != 1:
            wrong = ['must be a domain-prefixed key (such as "acme.io/foo")']
        yield from (invalid_value(path, key.lower(), text) for text in wrong)
    if sum(len(text.encode()) for pair in (annotations or {}).items() for text in pair) > _LARGEST_ANNOTATIONS:
        yield too_long(path, _LARGEST_ANNOTATIONS)


def _validate_key(behaviour: ServedBehaviour, spec: Object) -> Errors:
    """The errors of the key: one with a signature, or one in an empty signing request (from 1.36 on)."""
    stub, key, proof = (spec.get(name) or "" for name in ("stubPKCS10Request", "pkixPublicKey", "proofOfPossession"))
    if not behaviour.applies("pods-request-with-signing-requests") or (key and proof and not stub):
        yield from validate_proven_key(spec.get("podUID") or "", key, proof)
    elif stub and not key and not proof:
        yield from validate_stub_request(base64.b64decode(stub))
    else:
        text = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
        yield invalid_value("spec", OMITTED, text)


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    status, before = (
        {name: value for name, value in (each.get("status") or {}).items() if value} for each in (obj, old or {})
    )
    conditions = status.get("conditions") or ()
    errors = [*_validate_ends(conditions), *placed("status.conditions", CONDITIONS(behaviour, conditions))]
    if errors:
        return errors
    state, ended = _end(status), _end(before)
    text = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
    kept = before
    if ended:
        text = "immutable after PodCertificateRequest is issued, denied, or failed"
    elif state == "Issued":
        return [*validate_chain(obj["spec"], status)]
    elif state:
        kept = {"conditions": conditions}
        text = "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
    return [] if status == kept else [invalid_value("status", OMITTED, text)]


def _validate_ends(conditions: Sequence[Object]) -> Errors:
    known = 0
    for index, condition in enumerate(conditions):
        path, kind = f"status.conditions.[{index}]", condition.get("type") or ""
        if kind not in _ENDS:
            yield unsupported(f"{path}.type", kind, _ENDS)
            continue
        known += 1
        if known > 1:
            text = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
            yield invalid_value(f"{path}.type", kind, text)
        if condition.get("status") != "True":
            yield unsupported(f"{path}.status", condition.get("status") or "", ("True",))


def _end(status: Object) -> str:
    """The condition that tells how a request ended; empty for one that goes on."""
    conditions: Sequence[Object] = status.get("conditions") or ()
    ended = (each["type"] for each in conditions if each.get("type") in _ENDS and each.get("status") == "True")
    return next(ended, "")


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    ends = [each["type"] for each in at(obj, "status", "conditions") or () if each.get("type") in _ENDS]
    named = (spec.get(name) or "" for name in ("podName", "serviceAccountName", "nodeName", "signerName"))
    return [name_of(obj), *named, ends[-1] if ends else "Pending", pairs(spec.get("unverifiedUserAnnotations"))]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=missing("spec", {"maxExpirationSeconds": _DAY}),
    prepare=prepared(status={}),
    validate=_validate,
    print_row=_row,
    selectable_fields=selecting("spec.signerName", "spec.podName", "spec.nodeName"),
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status, owns_all=True)},
    reset_fields=lambda _: {"": (), "status": ("spec",)},
    allow_unconditional_update=False,
)
