"""IP addresses and address ranges.

k8s.io/apiserver/pkg/cel/library/ip.go and cidr.go, release 1.30.

Upstream: k8s.io/apiserver/pkg/cel/library/cidr.go, release 1.30.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import ClassVar, Final

from simkit.language.cel.declarations import Library, declared, takes
from simkit.language.cel.errors import EvaluationError, no_overload
from simkit.language.cel.types import parsed
from simkit.meta.fielderror import quoted
from simkit.meta.netip import Address, NotNetip, parse_address, parse_prefix

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, repr=False)
class IpValue:
    """An address."""

    cel_kind: ClassVar[str] = "net.IP"
    address: Address

    def __str__(self) -> str:
        return str(self.address)

    def __repr__(self) -> str:
        return f"ip('{self}')"

    def cel_size(self) -> int:
        """Bytes of the address."""
        return len(self.address.packed)


@dataclass(frozen=True, slots=True, repr=False)
class CidrValue:
    """An address with the length of its prefix."""

    cel_kind: ClassVar[str] = "net.CIDR"
    address: Address
    length: int

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    def __repr__(self) -> str:
        return f"cidr('{self}')"

    def cel_size(self) -> int:
        """Bytes that the prefix covers."""
        return -(-self.length // 8)

    def network(self) -> Network:
        """The range with the bits behind the prefix set to zero."""
        return ipaddress.ip_network(f"{self.address}/{self.length}", strict=False)


def _address(text: str) -> Address:
    try:
        found = parse_address(text)
    except NotNetip as error:
        told = f"IP Address {quoted(text)} parse error during conversion from string: {error}"
        raise EvaluationError(told) from None
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id:
            raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
        _refuse_mapped(found, text)
    return found


def _refuse_mapped(address: ipaddress.IPv6Address, text: str) -> None:
    if address.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")


def ip(text: str) -> IpValue:
    """The address in a text."""
    return IpValue(_address(text))


def cidr(text: str) -> CidrValue:
    """The range in a text. Errors repeat the failed call, as those of Kubernetes do."""
    failed = "network address parse error during conversion from string"
    try:
        address, length = parse_prefix(text)
        if isinstance(address, ipaddress.IPv6Address):
            _refuse_mapped(address, text)
    except NotNetip as error:
        raise EvaluationError(f"{failed}: {failed}: {error}") from None
    except EvaluationError as error:
        raise EvaluationError(f"{failed}: {error}") from None
    return CidrValue(address, length)


def _contains_ip(outer: CidrValue, address: IpValue) -> bool:
    return address.address in outer.network()


def _contains_written_ip(outer: CidrValue, text: str) -> bool:
    """True if the range contains an address in a text; a text that is no address is an argument of a wrong type."""
    try:
        address = ip(text)
    except EvaluationError:
        raise no_overload() from None
    return _contains_ip(outer, address)


def _contains_cidr(outer: CidrValue, inner: CidrValue) -> bool:
    return (
        outer.address.version == inner.address.version
        and outer.length <= inner.length
        and inner.address in outer.network()
    )


def _global_unicast(found: IpValue) -> bool:
    address = found.address
    broadcast = address == ipaddress.IPv4Address("255.255.255.255")
    return not (
        broadcast or address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    )


def _link_local_multicast(found: IpValue) -> bool:
    if found.address.version == 4:
        return found.address in ipaddress.ip_network("224.0.0.0/24")
    return found.address.packed[0] == 0xFF and found.address.packed[1] & 0x0F == 0x02


NETWORK: Final = Library(
    "ip and cidr",
    (1, 30),
    (
        declared("string_to_ip", "ip(string) IP", ip),
        declared("is_ip", "isIP(string) bool", takes(ip)),
        declared("ip_is_canonical", "ip.isCanonical(string) bool", lambda text: str(_address(text)) == text),
        declared("ip_family", "IP.family() int", lambda found: found.address.version),
        declared("ip_is_unspecified", "IP.isUnspecified() bool", lambda found: found.address.is_unspecified),
        declared("ip_is_loopback", "IP.isLoopback() bool", lambda found: found.address.is_loopback),
        declared("ip_is_link_local_multicast", "IP.isLinkLocalMulticast() bool", _link_local_multicast),
        declared("ip_is_link_local_unicast", "IP.isLinkLocalUnicast() bool", lambda found: found.address.is_link_local),
        declared("ip_is_global_unicast", "IP.isGlobalUnicast() bool", _global_unicast),
        declared("ip_to_string", "string(IP) string", str),
        declared("string_to_cidr", "cidr(string) CIDR", cidr),
        declared("is_cidr", "isCIDR(string) bool", takes(cidr)),
        declared("cidr_contains_ip_string", "CIDR.containsIP(string) bool", _contains_written_ip),
        declared("cidr_contains_ip_ip", "CIDR.containsIP(IP) bool", _contains_ip),
        declared(
            "cidr_contains_cidr_string",
            "CIDR.containsCIDR(string) bool",
            lambda outer, text: _contains_cidr(outer, cidr(text)),
        ),
        declared("cidr_contains_cidr", "CIDR.containsCIDR(CIDR) bool", _contains_cidr),
        declared("cidr_ip", "CIDR.ip() IP", lambda found: IpValue(found.address)),
        declared("cidr_prefix_length", "CIDR.prefixLength() int", lambda found: found.length),
        declared(
            "cidr_masked", "CIDR.masked() CIDR", lambda found: CidrValue(found.network().network_address, found.length)
        ),
        declared("cidr_to_string", "string(CIDR) string", str),
    ),
    types=(parsed("IP"), parsed("CIDR")),
)
