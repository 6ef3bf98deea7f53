"""Validation of single fields: bounded numbers, immutable fields, names.

Follows ``k8s.io/apimachinery/pkg/api/validation/generic.go`` and
``k8s.io/apimachinery/pkg/util/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_label, dns_subdomain, path_segment

FIXED: Final = "field is immutable"
_WILDCARD: Final = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def validate_nonnegative(path: str, number: int | None) -> Iterator[FieldError]:
    """The error of a negative number."""
    if number is not None and number < 0:
        yield invalid_value(path, number, "must be greater than or equal to 0")


def validate_immutable_field(path: str, now: Any, before: Any) -> Iterator[FieldError]:
    """The error of a changed immutable field."""
    if now != before:
        yield invalid_value(path, now, FIXED)


def validate_required_name(path: str, name: str, rule: Callable[[str], Sequence[str]]) -> Iterator[FieldError]:
    """The errors of a required name with a format."""
    if not name:
        yield required(path)
    else:
        yield from (invalid_value(path, name, text) for text in rule(name))


def validate_text(path: str, text: str, rule: Callable[[str], Sequence[str]]) -> Iterator[FieldError]:
    """The errors of a text with a format."""
    return (invalid_value(path, text, why) for why in rule(text))


def segment(name: str) -> Sequence[str]:
    """The errors of a name that must be a path segment."""
    return path_segment(name)


def wildcard_subdomain(name: str) -> Sequence[str]:
    """The errors of a host that begins with ``*.``."""
    wrong = [] if len(name) <= 253 else ["must be no more than 253 characters"]
    if not _WILDCARD.fullmatch(name):
        wrong.append(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. "
            "'*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?"
            "(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
    return wrong


def validate_qualified_domain(path: str, name: str) -> Iterator[FieldError]:
    """The errors of a fully qualified domain name, perhaps with a trailing dot."""
    if not name:
        yield required(path)
        return
    name = name.removesuffix(".")
    wrong = dns_subdomain(name)
    if wrong:
        yield invalid_value(path, name, ",".join(wrong))
    elif "." not in name:
        yield invalid_value(path, name, "should be a domain with at least two segments separated by dots")
    else:
        found = next((part for part in name.split(".") if dns_label(part)), None)
        if found is not None:
            yield invalid_value(path, found, ",".join(dns_label(found)))


def validate_qualified_webhook(path: str, name: str) -> Iterator[FieldError]:
    """The errors of a webhook's name, which needs three parts."""
    if not name:
        yield required(path)
        return
    wrong = dns_subdomain(name)
    if wrong:
        yield invalid_value(path, name, ",".join(wrong))
    elif name.count(".") < 2:
        yield invalid_value(path, name, "should be a domain with at least three segments separated by dots")


def validate_domain_path(path: str, text: str) -> Iterator[FieldError]:
    """The errors of a path under a domain, such as ``example.com/name``."""
    if not text:
        yield required(path)
        return
    host, _, rest = text.partition("/")
    if not host or not rest:
        yield invalid_value(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from (invalid_value(path, host, why) for why in dns_subdomain(host))
    if not _PATH.fullmatch(rest):
        yield invalid_value(path, rest, f"Invalid path (regex used for validation is '{_PATH.pattern}')")
