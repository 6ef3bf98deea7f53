"""Addresses of the Internet Protocol in texts."""

from __future__ import annotations

from ipaddress import ip_address


def is_address(text: str) -> bool:
    """True if a text is an address of version 4 or 6.

    Examples
    --------
    >>> is_address("10.0.0.1"), is_address("::1"), is_address("web")
    (True, True, False)
    """
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
