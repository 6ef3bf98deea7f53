"""Validation of IP addresses, CIDR ranges and ports.

Follows ``k8s.io/apimachinery/pkg/util/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

from simkit.meta.fielderror import FieldError, invalid_value, quoted
from simkit.meta.integers import is_digits, parse_int
from simkit.meta.name_validation import port_name
from simkit.meta.netip import NotNetip, parse_address, parse_prefix

NOT_AN_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_RANGE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"

_ZEROS: Final = re.compile(r"(^|\.)0+(?=\d)")

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def address(text: str) -> Address | None:
    """The address in a text; None if it is none. Leading zeros are decimal.

    Examples
    --------
    >>> str(address("010.0.0.1"))
    '10.0.0.1'
    """
    if "%" in text:
        return None
    try:
        return ip_address(text if ":" in text else _ZEROS.sub(r"\1", text))
    except ValueError:
        return None


def network(text: str) -> Network | None:
    """The range in a text (host bits are ignored); None if it is none."""
    start, slash, length = text.partition("/")
    found = address(start)
    bits = parse_int(length) if is_digits(length) else None
    if not slash or found is None or bits is None or bits > found.max_prefixlen:
        return None
    return ip_network(f"{found}/{bits}", strict=False)


def family(text: str) -> str:
    """``IPv4`` or ``IPv6``; the former for an invalid address."""
    return "IPv6" if isinstance(address(text), IPv6Address) else "IPv4"


def validate_ip(path: str, text: str) -> Iterator[FieldError]:
    if address(text) is None:
        yield invalid_value(path, text, NOT_AN_ADDRESS)


def validate_cidr(path: str, text: str) -> Iterator[FieldError]:
    if network(text) is None:
        yield invalid_value(path, text, NOT_A_RANGE)


def validate_non_special_ip(path: str, text: str) -> Iterator[FieldError]:
    """The errors of an address that must not be unspecified, loopback, link-local or multicast."""
    found = address(text)
    if found is None:
        yield invalid_value(path, text, "must be a valid IP address")
        return
    if found.is_unspecified:
        yield invalid_value(path, text, f"may not be unspecified ({text})")
    if found.is_loopback:
        yield invalid_value(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if found.is_link_local:
        yield invalid_value(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if any(found in each for each in _LINK_LOCAL_MULTICAST):
        yield invalid_value(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


_LINK_LOCAL_MULTICAST: Final = (ip_network("224.0.0.0/24"), ip_network("ff02::/16"))


_ACCEPTED: Final = "was accepted, but will be invalid in a future Kubernetes release"


def ip_warnings(path: str, text: str) -> Iterator[str]:
    """Warnings about an address that other software may read differently, or not at all."""
    try:
        found = parse_address(text)
    except NotNetip as error:
        yield f"{path}: IP address {_ACCEPTED}: {error}"
        return
    if found.version == 6 and str(found) != text:
        shown = f"IPv6 address {quoted(text)} is not in RFC 5952 canonical format ({quoted(str(found))})"
        yield f"{path}: {shown}, which may cause controller apply-loops"


def cidr_warnings(path: str, text: str) -> Iterator[str]:
    """Warnings about a range that other software may read differently, or not at all."""
    try:
        found, length = parse_prefix(text)
    except NotNetip as error:
        yield f"{path}: IP prefix {_ACCEPTED}: {error}"
        return
    if found.version == 6 and f"{found}/{length}" != text:
        shown = f"IPv6 prefix {quoted(text)} is not in RFC 5952 canonical format ({quoted(f'{found}/{length}')})"
        yield f"{path}: {shown}, which may cause controller apply-loops"


def validate_port(path: str, port: int) -> Iterator[FieldError]:
    if not 1 <= port <= 65535:
        yield invalid_value(path, port, PORT_RANGE)


def validate_port_or_name(path: str, value: Any) -> Iterator[FieldError]:
    """The errors of a number of a port, or a name in its place."""
    if isinstance(value, str):
        yield from (invalid_value(path, value, text) for text in port_name(value))
    else:
        yield from validate_port(path, int(value or 0))
