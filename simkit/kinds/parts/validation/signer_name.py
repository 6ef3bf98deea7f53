"""Validation of signer names: a domain, a slash, a name.

Follows ``pkg/apis/certificates/validation/validation.go`` and ``pkg/apis/core/validation/names.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta.fielderror import FieldError, invalid_value, quoted, required, too_long
from simkit.meta.name_validation import dns_label, dns_subdomain

_LONGEST_DOMAIN: Final = 253
_LONGEST: Final = _LONGEST_DOMAIN + 1 + 253 + 63 + 1


def validate_signer_name(path: str, name: str) -> Iterator[FieldError]:
    """The errors of the name of a signer."""
    if not name:
        yield required(path)
        return
    domain, _, rest = name.partition("/")
    if name.count("/") != 1:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid_value(path, name, text)
        return
    if len(domain) > _LONGEST_DOMAIN:
        yield too_long(path, _LONGEST_DOMAIN)
    part = next((part for part in domain.split(".") if dns_label(part)), None)
    if part is not None:
        yield from (invalid_value(path, domain, f"validating label {quoted(part)}: {why}") for why in dns_label(part))
    if "." not in domain:
        yield invalid_value(path, domain, "should be a domain with at least two segments separated by dots")
    part = next((part for part in rest.split(".") if dns_subdomain(part)), None)
    if part is not None:
        yield from (invalid_value(path, rest, f"validating label {quoted(part)}: {why}") for why in dns_subdomain(part))
    if len(name) > _LONGEST:
        yield too_long(path, _LONGEST)
