"""The structure of an object: all of it on which the fields of a newly created object depend.

That is which keys there are, which values are zero, and the elements of lists, since some are path elements. Any other
value may be replaced by another one: its path is owned all the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

import orjson

from simkit.meta.go_json import compact

_MOST: Final = 256
"""Keys and values of the largest object that has a structure."""
_END: Final = object()


def structure(obj: Mapping[str, Any]) -> Hashable | None:
    """The structure of an object of JSON values; None if it is large.

    Examples
    --------
    >>> one, other = {"a": "x", "b": {"c": 1}}, {"a": "y", "b": {"c": 2}}
    >>> structure(one) == structure(other), structure(one) == structure({"a": "", "b": {"c": 1}})
    (True, False)
    """
    found: list[Hashable] = []
    return tuple(found) if _collect(obj, found) else None


def _collect(obj: Mapping[str, Any], found: list[Hashable]) -> bool:
    for name, value in obj.items():
        found.append(name)
        if value and value.__class__ is str:
            found.append(True)
        elif isinstance(value, dict):
            if not _collect(value, found):
                return False
            found.append(_END)
        elif isinstance(value, list):
            found.append(compact(orjson.dumps(value)))
        else:
            kind: Any = True if value else type(value)
            found.append(kind)
    return len(found) <= _MOST
