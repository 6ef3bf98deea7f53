"""Warnings of addresses that are taken, and should not be relied on."""

from __future__ import annotations

import pytest

from simkit.kinds.parts.validation.ip import cidr_warnings, ip_warnings
from tests.releases import BASE

_ACCEPTED = "was accepted, but will be invalid in a future Kubernetes release"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("10.0.0.1", []),
        ("2001:db8::1", []),
        ("1.2.3", [f'f: IP address {_ACCEPTED}: ParseAddr("1.2.3"): IPv4 address too short']),
        ("010.0.0.1", [f'f: IP address {_ACCEPTED}: ParseAddr("010.0.0.1"): IPv4 field has octet with leading zero']),
        ("balancer", [f'f: IP address {_ACCEPTED}: ParseAddr("balancer"): unable to parse IP']),
        (
            "2001:DB8::1",
            [
                'f: IPv6 address "2001:DB8::1" is not in RFC 5952 canonical format ("2001:db8::1"), '
                "which may cause controller apply-loops"
            ],
        ),
    ],
)
def test_addresses(text: str, told: list[str]) -> None:
    """Each warning names what is wrong with the address."""
    assert list(ip_warnings(BASE, "f", text)) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("10.0.0.0/8", []),
        ("10.0.0.0/08", [f'f: IP prefix {_ACCEPTED}: netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"']),
        (
            "2001:DB8::/32",
            [
                'f: IPv6 prefix "2001:DB8::/32" is not in RFC 5952 canonical format ("2001:db8::/32"), '
                "which may cause controller apply-loops"
            ],
        ),
    ],
)
def test_ranges(text: str, told: list[str]) -> None:
    """Each warning names what is wrong with the range."""
    assert list(cidr_warnings(BASE, "f", text)) == told
