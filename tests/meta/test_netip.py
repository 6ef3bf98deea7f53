"""Addresses and prefixes as Go reads them."""

from __future__ import annotations

import pytest

from simkit.meta.netip import NotNetip, parse_address, parse_prefix


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("abc", "unable to parse IP"),
        ("%eth", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.3.4%e", 'unexpected character (at "%e")'),
        ("::1%", "zone must be a non-empty string"),
        ("1:2:3:4:5:6:7", "address string too short"),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1:2 ", 'unexpected character, want colon (at " ")'),
        ("1:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        ("::1.2.3.999", "IPv4 field has value >255"),
        ("::1:2:3:4:5:6:7:8", "the :: must expand to at least one field of zeros"),
        (
            "::1:2:3:4:5:6:7:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
    ],
)
def test_no_address(text: str, why: str) -> None:
    """A malformed address is reported with the place where reading stopped."""
    with pytest.raises(NotNetip) as caught:
        parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {why}'


@pytest.mark.parametrize("text", ["1.2.3.4", "::", "::1", "1::", "1:2:3:4:5:6:7::", "::ffff:1.2.3.4", "fe80::1%eth0"])
def test_address(text: str) -> None:
    """Addresses of both families are read, shortened, mixed and with zones."""
    assert str(parse_address(text)) in (text, "::ffff:102:304", "1:2:3:4:5:6:7:0")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1.2.3.4", "no '/'"),
        ("1.2.3/8", 'ParseAddr("1.2.3"): IPv4 address too short'),
        ("1.2.3.4/", 'bad bits after slash: ""'),
        ("1.2.3.4/08", 'bad bits after slash: "08"'),
        ("1.2.3.4/33", "prefix length out of range"),
        ("1.2.3.4/9223372036854775808", 'bad bits after slash: "9223372036854775808"'),
        ("::1%e/3", "IPv6 zones cannot be present in a prefix"),
    ],
)
def test_no_prefix(text: str, why: str) -> None:
    """A malformed prefix is reported, too."""
    with pytest.raises(NotNetip) as caught:
        parse_prefix(text)
    assert str(caught.value) == f'netip.ParsePrefix("{text}"): {why}'


def test_prefix() -> None:
    """The bits behind the prefix are kept."""
    address, length = parse_prefix("10.1.2.3/8")
    assert (str(address), length) == ("10.1.2.3", 8)
