"""Parsing of addresses and prefixes with the errors of Go's ``net/netip``."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from simkit.meta.fielderror import quoted

Address = IPv4Address | IPv6Address

_FIRST: Final = re.compile(r"[.:%]")
_GROUP: Final = re.compile(r"[0-9A-Fa-f]*", re.ASCII)
_BITS: Final = re.compile(r"0|[1-9]\d{0,18}", re.ASCII)
_LARGEST_INT: Final = 2**63 - 1
_GROUPS: Final = 8
_GROUP_DIGITS: Final = 4


class NotNetip(ValueError):
    """A text that is no address or no prefix; the message is Go's."""


def parse_address(text: str) -> Address:
    """The address in a text, with its zone if it has one.

    Raises
    ------
    NotNetip

    Examples
    --------
    >>> parse_address("1.2.3")
    Traceback (most recent call last):
    ...
    simkit.meta.netip.NotNetip: ParseAddr("1.2.3"): IPv4 address too short
    """
    first = _FIRST.search(text)
    if first is None:
        raise _error(text, "unable to parse IP")
    if first[0] == "%":
        raise _error(text, "missing IPv6 address")
    if first[0] == ".":
        _check_fields(text, text)
    else:
        _check_groups(text)
    return ip_address(text)


def parse_prefix(text: str) -> tuple[Address, int]:
    """The address and the length of a prefix.

    Raises
    ------
    NotNetip
    """
    start, slash, length = text.rpartition("/")
    if not slash:
        raise _prefix_error(text, "no '/'")
    try:
        found = parse_address(start)
    except NotNetip as error:
        raise _prefix_error(text, str(error)) from None
    if isinstance(found, IPv6Address) and found.scope_id:
        raise _prefix_error(text, "IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(length) or int(length) > _LARGEST_INT:
        raise _prefix_error(text, f"bad bits after slash: {quoted(length)}")
    if int(length) > found.max_prefixlen:
        raise _prefix_error(text, "prefix length out of range")
    return found, int(length)


def _error(text: str, why: str, at: str = "") -> NotNetip:
    place = f" (at {quoted(at)})" if at else ""
    return NotNetip(f"ParseAddr({quoted(text)}): {why}{place}")


def _prefix_error(text: str, why: str) -> NotNetip:
    return NotNetip(f"netip.ParsePrefix({quoted(text)}): {why}")


def _check_fields(whole: str, text: str) -> None:
    """Raise the error of anything but four numbers separated by dots."""
    number, dots = "", 0
    for index, letter in enumerate(text):
        if letter in "0123456789":
            if number == "0":
                raise _error(whole, "IPv4 field has octet with leading zero")
            number += letter
            if int(number) > 255:
                raise _error(whole, "IPv4 field has value >255")
        elif letter == ".":
            if not number or index == len(text) - 1:
                raise _error(whole, "IPv4 field must have at least one digit", text[index:])
            if dots == 3:
                raise _error(whole, "IPv4 address too long")
            number, dots = "", dots + 1
        else:
            raise _error(whole, "unexpected character", text[index:])
    if dots < 3:
        raise _error(whole, "IPv4 address too short")


def _check_groups(whole: str) -> None:
    """Raise the error of anything but eight groups, or fewer around one ``::``."""
    text, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _error(whole, "zone must be a non-empty string")
    short, groups = text.startswith("::"), 0
    rest = text[2:] if short else text
    while groups < _GROUPS and not (short and not rest):
        digits = _group(whole, rest)
        if rest[len(digits) :].startswith("."):
            _check_embedded(whole, rest, groups, short)
            groups, rest = groups + 2, ""
            break
        groups, rest = groups + 1, rest[len(digits) :]
        if not rest:
            break
        rest = _after_colon(whole, rest)
        if rest.startswith(":"):
            if short:
                raise _error(whole, "multiple :: in address", rest)
            short, rest = True, rest[1:]
    if rest:
        raise _error(whole, "trailing garbage after address", rest)
    if groups < _GROUPS and not short:
        raise _error(whole, "address string too short")
    if groups == _GROUPS and short:
        raise _error(whole, "the :: must expand to at least one field of zeros")


def _group(whole: str, rest: str) -> str:
    """The digits of the next group."""
    found = _GROUP.match(rest)
    digits = found[0] if found else ""
    if len(digits) > _GROUP_DIGITS:
        raise _error(whole, "each group must have 4 or less digits", rest)
    if not digits:
        raise _error(whole, "each colon-separated field must have at least one digit", rest)
    return digits


def _check_embedded(whole: str, rest: str, groups: int, short: bool) -> None:
    """Raise the error of an IPv4 address that is not in the place of the last two groups."""
    if not short and groups != _GROUPS - 2:
        raise _error(whole, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if groups + 2 > _GROUPS:
        raise _error(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    _check_fields(whole, rest)


def _after_colon(whole: str, rest: str) -> str:
    if not rest.startswith(":"):
        raise _error(whole, "unexpected character, want colon", rest)
    if rest == ":":
        raise _error(whole, "colon must be followed by more characters", rest)
    return rest[1:]
