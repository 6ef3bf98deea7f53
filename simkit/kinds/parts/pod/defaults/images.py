"""Pull policies of images, by their names.

Follows ``pkg/apis/core/v1/defaults.go`` and ``pkg/util/parsers/parsers.go``, release 1.30.
"""

from __future__ import annotations

import re
from typing import Final

_DOMAIN: Final = (
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
)
_PATH: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?P<name>(?:{_DOMAIN}(?::[0-9]+)?/)?{_PATH}(?:/{_PATH})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")
_LONGEST_NAME: Final = 255


def pull_policy(image: str) -> str:
    """Returns the default pull policy: Always for the tag ``latest`` or none, else IfNotPresent.

    Examples
    --------
    >>> [pull_policy(image) for image in ("nginx", "host:5000/nginx:latest", "nginx:1.2", "Not An Image", 238 * "a")]
    ['Always', 'Always', 'IfNotPresent', 'IfNotPresent', 'IfNotPresent']
    """
    match = _IMAGE.fullmatch(image)
    if match is None or not _is_name(match["name"]) or (match["digest"] and not match["tag"]):
        return "IfNotPresent"
    return "Always" if match["tag"] in (None, "latest") else "IfNotPresent"


def _is_name(name: str) -> bool:
    """True if a name is short enough, written out, and cannot be taken for the identifier of an image."""
    registry, slash, _ = name.partition("/")
    if not slash:
        return len(name) <= _LONGEST_NAME - len("docker.io/library/") and not _IDENTIFIER.fullmatch(name)
    elsewhere = "." in registry or ":" in registry or registry == "localhost"
    return len(name) <= _LONGEST_NAME - (0 if elsewhere else len("docker.io/"))
