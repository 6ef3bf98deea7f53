"""Label selectors in cells of Tables.

Follows ``k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.kinds.parts.printers.cells import NONE
from simkit.meta.objects import Object

_WORDS: Final[Mapping[str, str]] = {"In": "in", "NotIn": "notin"}


def selector_text(selector: Object | None) -> str:
    """Requirements sorted by key, ``<none>`` if there are none.

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


def selector_structure(selector: Object) -> str:
    """The selector as a protobuf message prints it, which one kind's table shows.

    Examples
    --------
    >>> selector_structure({"matchLabels": {"a": "b"}})
    '&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}'
    """
    labels: Mapping[str, str] = selector.get("matchLabels") or {}
    shown = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(_requirement(one) for one in selector.get("matchExpressions") or ())
    parts = f"MatchLabels:map[string]string{{{shown}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},"
    return f"&LabelSelector{{{parts}}}"


def _requirement(expression: Object) -> str:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values = " ".join(expression.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
