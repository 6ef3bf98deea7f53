"""A label selector in the words of a query, as cells of Tables show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.kinds.parts.cells import NONE
from simkit.meta.objects import Object

_WORDS: Final[Mapping[str, str]] = {"In": "in", "NotIn": "notin"}


def selector_text(selector: Object | None) -> str:
    """Requirements sorted by key, ``<none>`` where nothing is required.

    Examples
    --------
    >>> selector_text({"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]})
    'a,b=1'
    """
    if not selector:
        return NONE
    labels: Mapping[str, str] = selector.get("matchLabels") or {}
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    parts += [(one["key"], _text(one)) for one in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(parts)) or NONE


def _text(expression: Object) -> str:
    key, operator = expression["key"], expression.get("operator") or ""
    if operator in _WORDS:
        return f"{key} {_WORDS[operator]} ({','.join(sorted(expression.get('values') or ()))})"
    return key if operator == "Exists" else f"!{key}"
