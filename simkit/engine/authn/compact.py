"""The outer form of a signed token, by which other bearer tokens are told from it without reading one."""

from __future__ import annotations

import re
from typing import Final

_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")


def looks_signed(token: str) -> bool:
    """True for three parts of letters, digits, '-' and '_' with dots between them (RFC 7515, compact form).

    Examples
    --------
    >>> looks_signed("e30.e30.c2ln"), looks_signed("admin-token")
    (True, False)
    """
    return _COMPACT.fullmatch(token) is not None
