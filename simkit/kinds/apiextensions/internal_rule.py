"""CEL rules of schemas as errors show them: in the internal version.

Upstream: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types_jsonschema.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.kinds.parts.go_printing.syntax import pointer
from simkit.meta.behaviour import served_minor
from simkit.meta.fielderror import Shown, quoted

_TEXTS: Final = ((0, "Rule", "rule"), (0, "Message", "message"), (27, "MessageExpression", "messageExpression"))
"""The texts of a rule with the releases that they came with."""


def printed_rule(rule: Mapping[str, Any]) -> Shown:
    """A rule, which is Go's syntax up to 1.33 and JSON since 1.34."""
    every = [(since, f"{name}:{quoted(rule.get(key) or '')}") for since, name, key in _TEXTS]
    every.append((28, f"Reason:{pointer('apiextensions.FieldValueErrorReason', rule.get('reason'))}"))
    every.append((28, f"FieldPath:{quoted(rule.get('fieldPath') or '')}"))
    every.append((29, f"OptionalOldSelf:{pointer('bool', rule.get('optionalOldSelf'))}"))
    fields = [field for since, field in every if since <= served_minor()]
    return Shown(f"apiextensions.ValidationRule{{{', '.join(fields)}}}", _as_json(rule))


def _as_json(rule: Mapping[str, Any]) -> dict[str, Any]:
    """The rule with the names that its fields have inside of kube-apiserver."""
    head: dict[str, Any] = {name: rule.get(key) or "" for _, name, key in _TEXTS}
    tail = {"FieldPath": rule.get("fieldPath") or "", "OptionalOldSelf": rule.get("optionalOldSelf")}
    return {**head, "Reason": rule.get("reason"), **tail}
