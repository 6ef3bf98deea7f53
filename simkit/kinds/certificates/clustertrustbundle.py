"""ClusterTrustBundle: certificates that everybody may trust, perhaps those of one signer."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.bounds import changed
from simkit.kinds.parts.cells import NONE
from simkit.kinds.parts.pem import certificates_fault
from simkit.kinds.parts.signer_name import signer_name_faults
from simkit.kinds.strategy import Strategy
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.format import path_segment
from simkit.meta.objects import Object, at, name_of


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    signer = at(obj, "spec", "signerName") or ""
    faults = list(_faults(obj, signer))
    if old is not None:
        faults += changed("spec.signerName", signer, at(old, "spec", "signerName") or "")
    return faults


def _faults(obj: Object, signer: str) -> Iterator[FieldError]:
    name = name_of(obj)
    if signer:
        prefix = signer.replace("/", ":") + ":"
        if not name.startswith(prefix):
            text = f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
            yield invalid_value("metadata.name", name, text)
        yield from signer_name_faults("spec.signerName", signer)
    elif ":" in name:
        text = 'ClusterTrustBundle without signer name must not have ":" in its name'
        yield invalid_value("metadata.name", name, text)
    bundle = at(obj, "spec", "trustBundle") or ""
    why = certificates_fault(_encoded(bundle)) if bundle else "at least one trust anchor must be provided"
    if why:
        yield invalid_value("spec.trustBundle", "<value omitted>", why)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), at(obj, "spec", "signerName") or NONE]


def _fields(obj: Object) -> dict[str, str]:
    return {"spec.signerName": at(obj, "spec", "signerName") or ""}


RULES = Strategy(name=path_segment, validate=_validate, row=_row, fields=_fields, needs_version=True)
