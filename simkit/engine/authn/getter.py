"""Access to live objects for authenticators, and the decoding of secrets."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at

ObjectGetter = Callable[[GroupResource, str, str], Object | None]
"""The live object of a resource, namespace and name, or None."""


def secret_value(secret: Object, key: str) -> str:
    """One decoded entry of a secret's data; empty if it is missing or no text.

    Examples
    --------
    >>> secret_value({"data": {"token": "eA=="}}, "token")
    'x'
    """
    raw: Any = at(secret, "data", key)
    try:
        return base64.b64decode(raw, validate=True).decode() if isinstance(raw, str) else ""
    except (binascii.Error, UnicodeDecodeError):
        return ""
