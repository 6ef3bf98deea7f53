"""Defaulting and validation of the resource rules of webhooks and admission policies.

Follows ``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.copy_on_write import own_copy, own_items
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.parts.validation.repeats import repeats
from simkit.meta.fielderror import FieldError, Shown, duplicate, invalid_value, required, unsupported
from simkit.meta.name_validation import path_segment
from simkit.meta.objects import Draft, Object

MATCH_POLICIES: Final = ("Equivalent", "Exact")
FAILURE_POLICIES: Final = ("Fail", "Ignore")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")


def default_rules(holder: Draft, *names: str) -> None:
    """Set the scope of rules to ``*`` by default. The caller owns the holder."""
    for name in names:
        for rule in own_items(holder, name):
            rule.setdefault("scope", "*")


def default_match(holder: Draft, name: str) -> None:
    """Set the defaults of match resources, if there are any. The caller owns the holder."""
    if holder.get(name) is None:
        return
    match = own_copy(holder, name)
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    default_rules(match, "resourceRules", "excludeResourceRules")


def validate_match(path: str, match: Object) -> Iterator[FieldError]:
    """The errors of match resources."""
    if match["matchPolicy"] not in MATCH_POLICIES:
        yield unsupported(f"{path}.matchPolicy", match["matchPolicy"], MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        yield from validate_label_selector(match[name], f"{path}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            where = f"{path}.{name}[{index}]"
            yield from _validate_name(f"{where}.resourceNames", rule.get("resourceNames") or ())
            yield from validate_rule(where, rule)


def _validate_name(path: str, names: Sequence[str]) -> Iterator[FieldError]:
    again = repeats(names)
    for index, name in enumerate(names):
        yield from validate_text(f"{path}[{index}]", name, path_segment)
        if index in again:
            yield duplicate(f"{path}[{index}]", name)


def validate_rule(path: str, rule: Object) -> Iterator[FieldError]:
    """The errors of a rule: operations, groups, versions, resources, scope."""
    operations = rule.get("operations") or ()
    if not operations:
        yield required(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        text = "if '*' is present, must not specify other operations"
        yield invalid_value(f"{path}.operations", _operations(operations), text)
    for index, one in enumerate(operations):
        if one not in _OPERATIONS:
            yield unsupported(f"{path}.operations[{index}]", one, _OPERATIONS)
    for name, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or ()
        if not values:
            yield required(f"{path}.{name}")
        if len(values) > 1 and "*" in values:
            yield invalid_value(f"{path}.{name}", texts(values), f"if '*' is present, must not specify other {words}")
    for index, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _validate_resource(f"{path}.resources", rule.get("resources") or ())
    if rule["scope"] not in _SCOPES:
        yield unsupported(f"{path}.scope", rule["scope"], _SCOPES)


def _operations(operations: Sequence[str]) -> Shown:
    return texts(operations, "admissionregistration.OperationType")


def _validate_resource(path: str, resources: Sequence[str]) -> Iterator[FieldError]:
    if not resources:
        yield required(path)
    whole: set[str] = set()
    parts: set[str] = set()
    plain = False
    for index, text in enumerate(resources):
        resource, slash, part = text.partition("/")
        if not text:
            yield required(f"{path}[{index}]")
        elif not slash:
            plain = text != "*"
        else:
            if resource in whole:
                why = f"if '{resource}/*' is present, must not specify {text}"
                yield invalid_value(f"{path}[{index}]", text, why)
            if part in parts:
                yield invalid_value(f"{path}[{index}]", text, f"if '*/{part}' is present, must not specify {text}")
            whole |= {resource} if part == "*" else set()
            parts |= {part} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value(path, texts(resources), "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value(path, texts(resources), text)
