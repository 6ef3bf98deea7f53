"""Validation of IP addresses, CIDR ranges and ports.

Follows ``k8s.io/apimachinery/pkg/util/validation/validation.go``, ``pkg/apis/core/validation/validation.go`` and
``pkg/api/service/warnings.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from simkit.kinds.rules import by, must, placed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.bounded_cache import cached_when_short
from simkit.meta.fielderror import Errors, invalid_value, quoted
from simkit.meta.integers import is_digits, parse_int
from simkit.meta.name_validation import port_name
from simkit.meta.netip import NotNetip, parse_address, parse_prefix
from simkit.meta.objects import Object, at
from simkit.meta.wording import Worded

NOT_AN_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_RANGE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
SHORT_ADDRESS: Final = "must be valid IP address"
"""The words of errors about addresses in pods up to 1.29."""
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"

_ZEROS: Final = re.compile(r"(^|\.)0+(?=\d)")

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@cached_when_short(1024)
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


def validate_ip(
    behaviour: ServedBehaviour, path: str, text: str, kept: Collection[str] = (), *, formerly: str = NOT_AN_ADDRESS
) -> Errors:
    """The errors of an address in a field that is older than strict rules; stored ones may be ``kept``.

    ``formerly`` is what is said of a text that is no address up to 1.29.
    """
    found = address(text)
    if text in kept and behaviour.applies("stored-addresses-kept"):
        return
    if found is None:
        yield invalid_value(path, text, Worded("addresses-told-alike", NOT_AN_ADDRESS, formerly))
    elif behaviour.applies("strict-addresses"):
        yield from _validate_form(path, text)


def _validate_form(path: str, text: str) -> Errors:
    """Other software may take leading zeros for octal numbers, and addresses of one family for the other's."""
    try:
        exact = parse_address(text)
    except NotNetip:
        yield invalid_value(path, text, "must not have leading 0s")
        return
    if is_mapped(exact):
        yield invalid_value(path, text, "must not be an IPv4-mapped IPv6 address")


def validate_canonical_ip(path: str, text: str) -> Errors:
    """The errors of an address in a field of today: it must be written as Go writes it."""
    found = address(text)
    if found is None:
        yield invalid_value(path, text, NOT_AN_ADDRESS)
        return
    yield from list(_validate_form(path, text)) or _validate_canonical(path, text, shown_address(found))


def _validate_canonical(path: str, text: str, canonical: str) -> Errors:
    if text != canonical:
        yield invalid_value(path, text, f"must be in canonical form ({quoted(canonical)})")


def is_mapped(found: Address) -> bool:
    """True if an address is one of the older family in the form of the newer."""
    return isinstance(found, IPv6Address) and found.ipv4_mapped is not None


def shown_address(found: Address) -> str:
    """An address as Go writes it."""
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def validate_cidr(behaviour: ServedBehaviour, path: str, text: str, *, formerly: str = NOT_A_RANGE) -> Errors:
    """The errors of a range in a field that is older than strict rules.

    ``formerly`` is what is said of a text that is no range up to 1.29.
    """
    if network(text) is None:
        yield invalid_value(path, text, Worded("addresses-told-alike", NOT_A_RANGE, formerly))
    elif behaviour.applies("strict-addresses"):
        yield from _validate_range(path, text)


def _validate_range(path: str, text: str) -> Errors:
    try:
        start, length = parse_prefix(text)
    except NotNetip:
        yield invalid_value(path, text, "must not have leading 0s in IP or prefix length")
        return
    if is_mapped(start):
        yield invalid_value(path, text, "must not have an IPv4-mapped IPv6 address")
    elif ip_network(f"{start}/{length}", strict=False).network_address != start:
        yield invalid_value(path, text, "must not have bits set beyond the prefix length")


def validate_canonical_cidr(path: str, text: str) -> Errors:
    """The errors of a range in a field of today: it must be written as Go writes it."""
    found = network(text)
    if found is None:
        yield invalid_value(path, text, NOT_A_RANGE)
        return
    yield from list(_validate_range(path, text)) or _validate_canonical(path, text, str(found))


def validate_non_special_ip(behaviour: ServedBehaviour, path: str, text: str) -> Errors:
    """The errors of an address that must not be unspecified, loopback, link-local or multicast."""
    found = address(text)
    if found is None:
        yield invalid_value(path, text, "must be a valid IP address")
        return
    both = behaviour.applies("special-addresses-of-both-families")
    if found.is_unspecified:
        yield invalid_value(path, text, f"may not be unspecified ({text if both else IPv4Address(0)})")
    if found.is_loopback:
        yield invalid_value(path, text, f"may not be in the loopback range (127.0.0.0/8{', ::1/128' if both else ''})")
    if found.is_link_local:
        more = ", fe80::/10" if both else ""
        yield invalid_value(path, text, f"may not be in the link-local range (169.254.0.0/16{more})")
    if any(found in each for each in _LINK_LOCAL_MULTICAST):
        more = ", ff02::/10" if both else ""
        yield invalid_value(path, text, f"may not be in the link-local multicast range (224.0.0.0/24{more})")


_LINK_LOCAL_MULTICAST: Final = (ip_network("224.0.0.0/24"), ip_network("ff02::/16"))


def ip_warnings(behaviour: ServedBehaviour, path: str, text: str) -> Iterator[str]:
    """Warnings about an address that other software may read differently, or not at all."""
    if behaviour.applies("addresses-warned-about"):
        return _form_warnings(behaviour, path, text)
    return _older_warnings(path, "address", text, lambda: str(parse_address(text)))


def cidr_warnings(behaviour: ServedBehaviour, path: str, text: str) -> Iterator[str]:
    """Warnings about a range that other software may read differently, or not at all."""
    if behaviour.applies("addresses-warned-about"):
        return _range_warnings(behaviour, path, text)
    return _older_warnings(path, "prefix", text, lambda: "{}/{}".format(*parse_prefix(text)))


def _older_warnings(path: str, noun: str, text: str, read: Callable[[], str]) -> Iterator[str]:
    try:
        canonical = read()
    except NotNetip as error:
        yield f"{path}: IP {noun} was accepted, but will be invalid in a future Kubernetes release: {error}"
        return
    if ":" in canonical and canonical != text:
        shown = f"IPv6 {noun} {quoted(text)} is not in RFC 5952 canonical format ({quoted(canonical)})"
        yield f"{path}: {shown}, which may cause controller apply-loops"


def balancer_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about the addresses of load balancers in the status of a Service or Ingress."""
    if not behaviour.applies("addresses-warned-about"):
        return []
    return [
        warning
        for index, one in enumerate(at(obj, "status", "loadBalancer", "ingress") or ())
        for warning in ip_warnings(behaviour, f"status.loadBalancer.ingress[{index}]", one.get("ip") or "")
    ]


def _judgement(behaviour: ServedBehaviour) -> str:
    if behaviour.applies("nonstandard-addresses-called-invalid"):
        return "is invalid"
    return "will be considered invalid in a future Kubernetes release"


def _form_warnings(behaviour: ServedBehaviour, path: str, text: str) -> Iterator[str]:
    found = address(text)
    if found is None:
        return
    try:
        exact: Address | None = parse_address(text)
    except NotNetip:
        exact = None
    if exact is None or is_mapped(exact):
        judged = _judgement(behaviour)
        yield f"{path}: non-standard IP address {quoted(text)} {judged}: use {quoted(shown_address(found))}"
    elif exact.version == 6 and str(exact) != text:
        yield f"{path}: IPv6 address {quoted(text)} should be in RFC 5952 canonical format ({quoted(str(exact))})"


def _range_warnings(behaviour: ServedBehaviour, path: str, text: str) -> Iterator[str]:
    found, start = network(text), address(text.partition("/")[0])
    if found is None or start is None:
        return
    ambiguous = found.network_address != start
    if ambiguous:
        single = f"{shown_address(start)}/{found.max_prefixlen}"
        meant = f"{quoted(str(found))} or {quoted(single)}?"
        yield f"{path}: CIDR value {quoted(text)} is ambiguous in this context (should be {meant})"
    try:
        exact, length = parse_prefix(text)
    except NotNetip:
        exact, length = start, -1
    if length < 0 or is_mapped(exact):
        yield f"{path}: non-standard CIDR value {quoted(text)} {_judgement(behaviour)}: use {quoted(str(found))}"
    elif not ambiguous and exact.version == 6 and f"{exact}/{length}" != text:
        shown = f"{exact}/{length}"
        yield f"{path}: IPv6 CIDR value {quoted(text)} should be in RFC 5952 canonical format ({quoted(shown)})"


def validate_interface_address(behaviour: ServedBehaviour, path: str, text: str) -> Errors:
    """The errors of the address of a network interface with the length of its network."""
    found, start = network(text), address(text.partition("/")[0])
    if found is None or start is None:
        yield invalid_value(path, text, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")
        return
    length = found.prefixlen - (96 if is_mapped(start) else 0)
    yield from _validate_canonical(path, text, f"{shown_address(start)}/{length}")


def _validate_port_or_name(behaviour: ServedBehaviour, path: str, value: int | str) -> Errors:
    if isinstance(value, str):
        yield from (invalid_value(path, value, text) for text in port_name(value))
    else:
        yield from placed(path, PORT(behaviour, value))


PORT: Final = must.be_between(1, 65535)
PORT_OR_NAME: Final = by(_validate_port_or_name)
"""The check of a number of a port, or a name in its place."""
