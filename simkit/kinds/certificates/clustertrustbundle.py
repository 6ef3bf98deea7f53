"""Strategy of ClusterTrustBundle: validation and printer columns.

Follows ``pkg/registry/certificates/clustertrustbundle/strategy.go`` and
``pkg/apis/certificates/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import NONE
from simkit.kinds.parts.validation.fields import validate_immutable_field
from simkit.kinds.parts.validation.pem import certificates_error
from simkit.kinds.parts.validation.signer_name import validate_signer_name
from simkit.kinds.strategy import Strategy
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.name_validation import path_segment
from simkit.meta.objects import Object, at, name_of


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    signer = at(obj, "spec", "signerName") or ""
    errors = list(_validate_fields(obj, signer))
    if old is not None:
        errors += validate_immutable_field("spec.signerName", signer, at(old, "spec", "signerName") or "")
    return errors


def _validate_fields(obj: Object, signer: str) -> Iterator[FieldError]:
    name = name_of(obj)
    if signer:
        prefix = signer.replace("/", ":") + ":"
        if not name.startswith(prefix):
            text = f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
            yield invalid_value("metadata.name", name, text)
        yield from validate_signer_name("spec.signerName", signer)
    elif ":" in name:
        text = 'ClusterTrustBundle without signer name must not have ":" in its name'
        yield invalid_value("metadata.name", name, text)
    bundle = at(obj, "spec", "trustBundle") or ""
    why = certificates_error(_encoded(bundle)) if bundle else "at least one trust anchor must be provided"
    if why:
        yield invalid_value("spec.trustBundle", "<value omitted>", why)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), at(obj, "spec", "signerName") or NONE]


def _fields(obj: Object) -> dict[str, str]:
    return {"spec.signerName": at(obj, "spec", "signerName") or ""}


STRATEGY = Strategy(
    validate_name=path_segment,
    validate=_validate,
    print_row=_row,
    selectable_fields=_fields,
    allow_unconditional_update=False,
)
