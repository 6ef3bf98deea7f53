"""Descriptions of operations, read from the Python package ``kubernetes`` if it is installed.

The package documents a method for each operation but those of watches. Its files are read, not imported, when a
description is first asked for, one for each group version, and what was read is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from simkit.schema.openapi.descriptions import package_file

_METHOD: Final = re.compile(r'"""(\w+)(?:  # noqa: E501)?\n\n {8}(\S.*?)(?:  # noqa: E501)?\n')
"""The documentation of a method: its name, and what its operation does."""
_CAPITAL: Final = re.compile(r"([A-Z])")


def described(operation: Mapping[str, Any], tag: str) -> dict[str, Any]:
    """An operation with its description, if it is known, by its id and its tag, such as ``apps_v1``."""
    words = "".join(part[:1].upper() + part[1:] for part in tag.split("_"))  # which the package leaves out of the id
    about = _methods(tag).get(operation["operationId"].replace(words, "", 1).lower())
    return {"description": about, **operation} if about else dict(operation)


@cache
def _methods(tag: str) -> Mapping[str, str]:
    """The descriptions of all methods of a group version, by their names without underscores."""
    name = _CAPITAL.sub(r"_\1", tag).lower().lstrip("_")
    file = package_file(f"client/api/{name}_api.py")
    found = _METHOD.findall(file.read_text(encoding="utf-8")) if file is not None else ()
    return {method.replace("_", ""): text for method, text in found if not text.startswith(":")}
