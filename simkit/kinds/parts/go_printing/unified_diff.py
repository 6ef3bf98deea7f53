"""Differences of two values as a unified diff of their JSON, which messages contain since release 1.34.

Follows ``k8s.io/apimachinery/pkg/util/diff/diff.go``, release 1.34, and ``github.com/pmezard/go-difflib``.
"""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import Any, Final

from simkit.kinds.parts.go_printing.internal_json import internal_json

_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_HEADER: Final = 2
"""Lines of a unified diff that name the files."""


def json_difference(kind: str, old: Any, new: Any) -> str:
    """The lines that differ between the JSON texts of two values of a type, with three lines around them.

    Examples
    --------
    >>> print(json_difference("core.HostAlias", {"ip": "1"}, {"ip": "2"}), end="")
    @@ -1,4 +1,4 @@
     {
    - "IP": "1",
    + "IP": "2",
      "Hostnames": null
     }
    """
    found = list(unified_diff(_lines(kind, old), _lines(kind, new)))
    return "".join(found[_HEADER:])


def _lines(kind: str, value: Any) -> list[str]:
    text = json.dumps(internal_json(kind, value), indent=1, ensure_ascii=False).translate(_ESCAPED)
    return [f"{line}\n" for line in text.split("\n")]
