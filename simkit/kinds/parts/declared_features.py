"""Features that a node says it has: validation of their names and their order.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from simkit.meta.fielderror import FieldError, duplicate, invalid_value, quoted

_NAME: Final = re.compile("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_LONGEST: Final = 253
_FORM: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_declared_features(path: str, features: Sequence[str]) -> Iterator[FieldError]:
    """The errors of the names of features, which are sorted and stand once.

    Examples
    --------
    >>> [error.detail for error in validate_declared_features("p", ["B", "A"])]
    ['list must be sorted alphabetically']
    """
    for index, name in enumerate(features):
        wrong = _fault(name)
        if wrong:
            yield invalid_value(f"{path}[{index}]", name, f"invalid feature name {quoted(name)}: {wrong}")
        after = features[index + 1 : index + 2]
        if after == [name]:
            yield duplicate(f"{path}[{index + 1}]", name)
        elif after and after[0].encode() < name.encode():
            yield invalid_value(f"{path}[{index + 1}]", after[0], "list must be sorted alphabetically")


def _fault(name: str) -> str:
    if len(name.encode()) > _LONGEST:
        return f"must be no more than {_LONGEST} characters"
    return "" if _NAME.fullmatch(name) else _FORM
