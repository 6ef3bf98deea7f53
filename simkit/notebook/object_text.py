"""Objects as YAML for panels."""

from __future__ import annotations

from typing import Any, Final

import yaml

from simkit.present.readable_table import cut_short

_HIDDEN: Final = "managedFields"


def object_yaml(value: Any, *, managed_fields: bool = False) -> str:
    """A value as YAML, without its managed fields unless wanted; of a huge text both ends."""
    if isinstance(value, dict) and not managed_fields and _HIDDEN in (value.get("metadata") or {}):
        kept = {name: part for name, part in value["metadata"].items() if name != _HIDDEN}
        value = {**value, "metadata": kept}
    return cut_short(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110), 60_000)
