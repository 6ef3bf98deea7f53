"""Changes of RBAC objects that a proposal consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simkit.meta.names import Key


@dataclass(frozen=True)
class Change:
    """An object to write or, if None, to delete."""

    key: Key
    obj: Mapping[str, Any] | None
