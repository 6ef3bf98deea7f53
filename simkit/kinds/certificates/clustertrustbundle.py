"""Strategy of ClusterTrustBundle: validation and printer columns.

Follows ``pkg/registry/certificates/clustertrustbundle/strategy.go`` and
``pkg/apis/certificates/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.cells import NONE
from simkit.kinds.parts.validation.fields import SIGNER, validate_immutable_field
from simkit.kinds.parts.validation.pem import Entry, entries
from simkit.kinds.rules import placed
from simkit.kinds.strategy import Strategy, selecting
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.certificate_errors import unreadable
from simkit.meta.fielderror import Errors, invalid_value, too_long
from simkit.meta.name_validation import any_name, dns_subdomain
from simkit.meta.objects import Object, at, name_of

_BUNDLE: Final = "spec.trustBundle"
_LARGEST: Final = 1024 * 1024
"""Bytes of a bundle."""


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    signer = at(obj, "spec", "signerName") or ""
    yield from _validate_fields(behaviour, obj, signer)
    bundle = at(obj, "spec", "trustBundle") or ""
    if old is None or bundle != (at(old, "spec", "trustBundle") or ""):
        yield from _validate_bundle(bundle)
    if old is not None:
        yield from validate_immutable_field("spec.signerName", signer, at(old, "spec", "signerName") or "")


def _validate_fields(behaviour: ServedBehaviour, obj: Object, signer: str) -> Errors:
    name = name_of(obj)
    yield from (invalid_value("metadata.name", name, text) for text in _name_texts(name, signer))
    if signer:
        yield from placed("spec.signerName", SIGNER(behaviour, signer))


def _name_texts(name: str, signer: str) -> Sequence[str]:
    """The errors of a name, which begins with that of the signer if there is one."""
    prefix = f"{signer.replace('/', ':')}:" if signer else ""
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    if not signer and ":" in name:
        return ['ClusterTrustBundle without signer name must not have ":" in its name']
    return dns_subdomain(name.removeprefix(prefix))


def _validate_bundle(bundle: str) -> Errors:
    """The errors of each entry; if there are none, those of all together."""
    if len(bundle.encode()) > _LARGEST:
        yield too_long(_BUNDLE, _LARGEST)
        return
    wrong, found = list[str](), dict[bytes, list[int]]()
    for index, entry in enumerate(entries(bundle.encode())):
        why = _entry_error(entry)
        if why:
            wrong.append(f"entry {index} {why}")
        found.setdefault(entry.der, []).append(index)
    if not wrong:
        wrong = [] if found else ["at least one trust anchor must be provided"]
        same = (indices for indices in found.values() if len(indices) > 1)
        wrong += [f"duplicate trust anchor (indices [{' '.join(map(str, indices))}])" for indices in same]
    yield from (invalid_value(_BUNDLE, "<value omitted>", why) for why in wrong)


def _entry_error(entry: Entry) -> str:
    from cryptography import x509

    if entry.label != "CERTIFICATE":
        return f"has bad block type: {entry.label}"
    if entry.headed:
        return "has PEM block headers"
    try:
        extensions = x509.load_der_x509_certificate(entry.der).extensions
    except unreadable():
        return "does not parse as X.509"
    try:
        is_authority = extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_authority = False
    return "" if is_authority else "does not have the CA bit set"


STRATEGY = Strategy(
    validate_name=any_name,
    validate=_validate,
    print_row=lambda _, obj, __: [name_of(obj), at(obj, "spec", "signerName") or NONE],
    selectable_fields=selecting("spec.signerName"),
    allow_unconditional_update=False,
)
